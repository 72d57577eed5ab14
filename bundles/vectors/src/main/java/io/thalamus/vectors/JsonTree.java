// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A small JSON file as a whole, with accessors that name the key where something else stands there
 * than expected. Immutable.
 */
final class JsonTree {
  private final String where;
  private final Object value;

  private JsonTree(String where, Object value) {
    this.where = where;
    this.value = value;
  }

  static JsonTree read(Path file) throws IOException, VectorFormatException {
    try (JsonCursor json = new JsonCursor(Files.readAllBytes(file))) {
      json.next();
      return new JsonTree(file.toString(), value(json));
    } catch (JsonProcessingException e) {
      throw new VectorFormatException(file + ": no valid JSON: " + JsonCursor.problem(e), e);
    } catch (VectorFormatException e) {
      throw new VectorFormatException(file + ": " + e.getMessage(), e);
    }
  }

  private static Object value(JsonCursor json) throws IOException, VectorFormatException {
    return switch (json.token()) {
      case START_OBJECT -> {
        Map<String, Object> map = new LinkedHashMap<>();
        for (String key = json.nextKey(); key != null; key = json.nextKey()) {
          map.put(key, value(json));
        }
        yield map;
      }
      case START_ARRAY -> {
        List<Object> list = new ArrayList<>();
        while (json.next() != JsonToken.END_ARRAY) {
          list.add(value(json));
        }
        yield list;
      }
      case VALUE_STRING -> json.text();
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> json.number();
      case VALUE_TRUE, VALUE_FALSE -> json.bool();
      case VALUE_NULL -> Optional.empty();
      case null, default -> throw json.wrong("a value");
    };
  }

  /** The value of a key that must be there. */
  JsonTree get(String key) throws VectorFormatException {
    return find(key).orElseThrow(() -> new VectorFormatException(where + " has no '" + key + "'"));
  }

  /** The value of a key; empty where it is missing or null. */
  Optional<JsonTree> find(String key) throws VectorFormatException {
    Object found = map().get(key);
    return found == null || found.equals(Optional.empty())
        ? Optional.empty()
        : Optional.of(new JsonTree(where + ": " + key, found));
  }

  /** The keys of an object, in order. */
  List<String> keys() throws VectorFormatException {
    List<String> keys = new ArrayList<>();
    for (Object key : map().keySet()) {
      keys.add((String) key);
    }
    return keys;
  }

  List<JsonTree> elements() throws VectorFormatException {
    if (!(value instanceof List<?> list)) {
      throw wrong("an array");
    }
    List<JsonTree> elements = new ArrayList<>();
    for (Object element : list) {
      elements.add(new JsonTree(where + "[" + elements.size() + "]", element));
    }
    return elements;
  }

  String text() throws VectorFormatException {
    if (value instanceof String text) {
      return text;
    }
    throw wrong("a string");
  }

  double number() throws VectorFormatException {
    if (value instanceof Double number) {
      return number;
    }
    throw wrong("a number");
  }

  int integer() throws VectorFormatException {
    double number = number();
    if (number != (int) number) {
      throw wrong("a whole number");
    }
    return (int) number;
  }

  List<Integer> integers() throws VectorFormatException {
    List<Integer> integers = new ArrayList<>();
    for (JsonTree element : elements()) {
      integers.add(element.integer());
    }
    return integers;
  }

  Shape shape() throws VectorFormatException {
    try {
      return Shape.of(integers().stream().mapToInt(Integer::intValue).toArray());
    } catch (IllegalArgumentException e) {
      throw new VectorFormatException(where + ": " + e.getMessage(), e);
    }
  }

  /** Returns the format of a stored tensor; FLOAT, as ONNX says, is FLOAT32. */
  Elements dataType() throws VectorFormatException {
    String name = text();
    return switch (name) {
      case "FLOAT" -> Elements.FLOAT32;
      case "BOOL" -> Elements.BOOL8;
      default ->
          Arrays.stream(Elements.values())
              .filter(elements -> elements.name().equals(name))
              .findFirst()
              .orElseThrow(
                  () ->
                      new VectorFormatException(where + ": there is no data type '" + name + "'"));
    };
  }

  private Map<?, ?> map() throws VectorFormatException {
    if (value instanceof Map<?, ?> map) {
      return map;
    }
    throw wrong("an object");
  }

  private VectorFormatException wrong(String expected) {
    return new VectorFormatException(where + " is not " + expected);
  }
}
