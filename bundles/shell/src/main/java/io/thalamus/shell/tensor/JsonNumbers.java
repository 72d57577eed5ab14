// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.console.Json;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Nested arrays of numbers, or a single one.
 *
 * @param shape how the arrays are nested; none for a single number
 * @param values the numbers, row by row
 */
record JsonNumbers(Shape shape, double[] values) {
  private static final int DEEPEST = 32;

  /**
   * Reads a file's bytes.
   *
   * @throws CommandException where they are no JSON, or the arrays are not a full block of numbers
   */
  static JsonNumbers read(byte[] file, String name) {
    Reader reader = new Reader(name);
    try (JsonParser parser = Json.factory().createParser(file)) {
      reader.read(parser, parser.nextToken(), 0);
      if (parser.nextToken() != null) {
        throw new CommandException(name + ": something follows the numbers");
      }
    } catch (IOException e) {
      String line = e.getMessage() == null ? "" : e.getMessage().lines().findFirst().orElse("");
      // Jackson says where a thing began by a place in a source, whose name says nothing.
      String reason = line.replaceAll("\\[Source: [^;\\]]*; ([^\\]]*)\\]", "$1");
      throw new CommandException(name + " is not JSON: " + reason, e);
    }
    int[] dimensions = reader.dimensions.stream().mapToInt(Integer::intValue).toArray();
    return new JsonNumbers(Shape.of(dimensions), Arrays.copyOf(reader.values, reader.count));
  }

  /** Walks the arrays; the first one at each depth says how long all there must be. */
  private static final class Reader {
    private final String name;
    private final List<Integer> dimensions = new ArrayList<>();
    private double[] values = new double[64];
    private int count;
    private int depthOfNumbers = -1;

    Reader(String name) {
      this.name = name;
    }

    void read(JsonParser parser, JsonToken token, int depth) throws IOException {
      if (token != JsonToken.START_ARRAY) {
        if (depthOfNumbers >= 0 && depthOfNumbers != depth) {
          throw new CommandException(name + ": its arrays are not nested evenly");
        }
        depthOfNumbers = depth;
        add(number(parser, token));
        return;
      }
      if (depth >= DEEPEST) {
        throw new CommandException(name + ": its arrays are nested too deeply");
      }
      boolean first = dimensions.size() == depth;
      if (first) {
        dimensions.add(0);
      }
      int length = 0;
      for (JsonToken next = parser.nextToken();
          next != JsonToken.END_ARRAY;
          next = parser.nextToken()) {
        read(parser, next, depth + 1);
        length++;
      }
      if (first) {
        dimensions.set(depth, length);
      } else if (dimensions.get(depth) != length) {
        throw new CommandException(
            name + ": an array has " + length + " elements, others " + dimensions.get(depth));
      }
    }

    private double number(JsonParser parser, JsonToken token) throws IOException {
      if (token == null) {
        throw new CommandException(name + " is not JSON: it ends too early");
      }
      return switch (token) {
        case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
        case VALUE_TRUE -> 1;
        case VALUE_FALSE -> 0;
        case VALUE_STRING -> special(parser.getText());
        default ->
            throw new CommandException(
                name + ": expected nested arrays of numbers, found " + parser.getText());
      };
    }

    private double special(String text) {
      return switch (text) {
        case "NaN" -> Double.NaN;
        case "Infinity" -> Double.POSITIVE_INFINITY;
        case "-Infinity" -> Double.NEGATIVE_INFINITY;
        default -> throw new CommandException(name + ": '" + text + "' is not a number");
      };
    }

    private void add(double value) {
      if (count == values.length) {
        values = Arrays.copyOf(values, 2 * count);
      }
      values[count++] = value;
    }
  }

  /** The text of a file that holds this value as it is stored, nested as its dimensions say. */
  static String write(Tensor tensor) throws IOException {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = Json.factory().createGenerator(text)) {
      write(json, tensor, 0, 0);
    }
    return text.append('\n').toString();
  }

  private static long write(JsonGenerator json, Tensor tensor, int axis, long from)
      throws IOException {
    if (axis == tensor.shape().rank()) {
      element(json, tensor, from);
      return from + 1;
    }
    json.writeStartArray();
    long next = from;
    for (int i = 0; i < tensor.shape().dimension(axis); i++) {
      next = write(json, tensor, axis + 1, next);
    }
    json.writeEndArray();
    return next;
  }

  /** The shortest decimal that reads back as the same element. */
  static void element(JsonGenerator json, Tensor tensor, long index) throws IOException {
    Json.number(json, tensor.stored(index));
  }
}
