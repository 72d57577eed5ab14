// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static io.thalamus.model.LittleEndian.DOUBLE;
import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.LONG;
import static io.thalamus.model.LittleEndian.SHORT;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Reads the {@code data} of an input from JSON straight into memory: one flat array, or arrays that
 * are nested as the shape is, down to any dimension. Used once, by one thread.
 */
final class TensorReader {
  private static final BigInteger LARGEST_UINT64 =
      BigInteger.ONE.shiftLeft(Long.SIZE).subtract(BigInteger.ONE);

  /** The bytes of an element of JSON: a digit, and what separates it from the next. */
  private static final int SHORTEST = 2;

  private final JsonCursor json;
  private final String input;
  private final Datatype datatype;
  private final List<Long> shape;
  private final long count;

  /** Of all datatypes but BYTES. */
  private MemorySegment values = MemorySegment.NULL;

  /** Of BYTES, whose size only the end shows. */
  private final ByteArrayOutputStream texts = new ByteArrayOutputStream();

  private long read;

  private TensorReader(JsonCursor json, String input, Datatype datatype, List<Long> shape)
      throws ServingException {
    this.json = json;
    this.input = input;
    this.datatype = datatype;
    this.shape = shape;
    this.count = count(input, shape);
  }

  /** Returns the elements of a shape. */
  static long count(String input, List<Long> shape) throws ServingException {
    long count = 1;
    try {
      for (long dimension : shape) {
        count = Math.multiplyExact(count, dimension);
      }
      Math.multiplyExact(count, Long.BYTES);
    } catch (ArithmeticException e) {
      throw Failures.tooLarge(input + " has shape " + shape + ", which is too large");
    }
    return count;
  }

  /**
   * Reads an array that begins at the cursor, and leaves it on the array's end.
   *
   * @param input the input for messages
   */
  static MemorySegment read(
      JsonCursor json, String input, Datatype datatype, List<Long> shape, RequestMemory memory)
      throws IOException, ServingException {
    if (datatype == Datatype.FP16 || datatype == Datatype.BF16) {
      throw ServingException.invalid(
          input + " is " + datatype + ", which JSON cannot hold: expected binary_data_size");
    }
    TensorReader reader = new TensorReader(json, input, datatype, shape);
    json.expect(JsonToken.START_ARRAY, input + ": data", "an array");
    // Who says much and sends little must get no memory for what does not come.
    if (reader.count > json.bytesLeft() / SHORTEST) {
      throw ServingException.invalid(
          "%s: data has too few elements: expected %d for %s %s, and %d bytes of JSON are left"
              .formatted(input, reader.count, datatype, shape, json.bytesLeft()));
    }
    if (datatype != Datatype.BYTES) {
      reader.values = memory.allocate(input, reader.count * datatype.size());
    }
    reader.array(0);
    return datatype == Datatype.BYTES
        ? MemorySegment.ofArray(reader.texts.toByteArray())
        : reader.values;
  }

  /** Reads an array that stands for the dimensions from a level on. */
  private void array(int level) throws IOException, ServingException {
    if (level > 0 && level >= shape.size()) {
      throw ServingException.invalid(
          "%s: data is nested deeper than its shape %s: expected a value at element %d"
              .formatted(input, shape, read));
    }
    long begin = read;
    long expected = 1;
    for (long dimension : shape.subList(Math.min(level, shape.size()), shape.size())) {
      expected *= dimension;
    }
    long arrays = 0;
    JsonToken token = json.next();
    while (token != JsonToken.END_ARRAY) {
      if (token == JsonToken.START_ARRAY) {
        if (read - begin > 0 && arrays == 0) {
          throw ServingException.invalid(
              input + ": data has values and arrays beside each other at element " + read);
        }
        array(level + 1);
        arrays++;
      } else if (arrays > 0) {
        throw ServingException.invalid(
            input + ": data has values and arrays beside each other at element " + read);
      } else {
        if (read - begin == expected) {
          throw wrongCount("more than " + expected, level, expected, begin);
        }
        element();
        read++;
      }
      token = json.next();
    }
    if (read - begin != expected) {
      throw wrongCount(Long.toString(read - begin), level, expected, begin);
    }
  }

  private ServingException wrongCount(String what, int level, long expected, long begin) {
    String where = level == 0 ? "data" : "the array at element " + begin + " of data";
    return ServingException.invalid(
        "%s: %s has %s elements: expected %d for %s %s"
            .formatted(input, where, what, expected, datatype, shape));
  }

  private void element() throws IOException, ServingException {
    JsonParser parser = json.parser();
    switch (datatype) {
      case BOOL -> values.set(ValueLayout.JAVA_BYTE, read, bool());
      case UINT8 -> values.set(ValueLayout.JAVA_BYTE, read, (byte) integer(0, 0xff));
      case INT8 ->
          values.set(ValueLayout.JAVA_BYTE, read, (byte) integer(Byte.MIN_VALUE, Byte.MAX_VALUE));
      case UINT16 -> values.setAtIndex(SHORT, read, (short) integer(0, 0xffff));
      case INT16 ->
          values.setAtIndex(SHORT, read, (short) integer(Short.MIN_VALUE, Short.MAX_VALUE));
      case UINT32 -> values.setAtIndex(INT, read, (int) integer(0, 0xffff_ffffL));
      case INT32 ->
          values.setAtIndex(INT, read, (int) integer(Integer.MIN_VALUE, Integer.MAX_VALUE));
      case INT64 -> values.setAtIndex(LONG, read, integer(Long.MIN_VALUE, Long.MAX_VALUE));
      case UINT64 -> values.setAtIndex(LONG, read, unsigned());
      case FP32 -> {
        boolean isLiteral = number("FP32");
        float value = parser.getFloatValue();
        if (Float.isInfinite(value) && !isLiteral) {
          throw wrong("FP32, at most " + Float.MAX_VALUE);
        }
        values.setAtIndex(FLOAT, read, value);
      }
      case FP64 -> {
        boolean isLiteral = number("FP64");
        double value = parser.getDoubleValue();
        if (Double.isInfinite(value) && !isLiteral) {
          throw wrong("FP64, at most " + Double.MAX_VALUE);
        }
        values.setAtIndex(DOUBLE, read, value);
      }
      case BYTES -> {
        json.expect(JsonToken.VALUE_STRING, element(read), "a string");
        byte[] bytes = parser.getText().getBytes(StandardCharsets.UTF_8);
        byte[] length = new byte[Integer.BYTES];
        MemorySegment.ofArray(length).set(INT, 0, bytes.length);
        texts.writeBytes(length);
        texts.writeBytes(bytes);
      }
      case FP16, BF16 -> throw new IllegalStateException("refused before: " + datatype);
    }
  }

  private byte bool() throws IOException, ServingException {
    return switch (json.token()) {
      case VALUE_TRUE -> 1;
      case VALUE_FALSE -> 0;
      default -> (byte) integer(0, 1);
    };
  }

  private long integer(long least, long most) throws IOException, ServingException {
    JsonParser parser = json.parser();
    if (json.token() == JsonToken.VALUE_NUMBER_INT
        && parser.getNumberType() != NumberType.BIG_INTEGER) {
      long value = parser.getLongValue();
      if (value >= least && value <= most) {
        return value;
      }
    }
    throw wrong(
        datatype == Datatype.BOOL
            ? "BOOL, true or false"
            : datatype + ", a whole number from " + least + " to " + most);
  }

  private long unsigned() throws IOException, ServingException {
    if (json.token() == JsonToken.VALUE_NUMBER_INT) {
      BigInteger value = json.parser().getBigIntegerValue();
      if (value.signum() >= 0 && value.compareTo(LARGEST_UINT64) <= 0) {
        return value.longValue();
      }
    }
    throw wrong("UINT64, a whole number from 0 to " + LARGEST_UINT64);
  }

  /** Checks that here is a number, and returns whether it is NaN or an infinity by name. */
  private boolean number(String type) throws IOException, ServingException {
    return switch (json.token()) {
      case VALUE_NUMBER_INT -> false;
      case VALUE_NUMBER_FLOAT -> json.parser().isNaN();
      default -> throw wrong(type + ", a number");
    };
  }

  private ServingException wrong(String expected) throws IOException {
    return json.wrong(element(read), expected);
  }

  private String element(long index) {
    return input + ": data element " + index;
  }
}
