// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.thalamus.console.text.Style;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * The writer of results as JSON on one line. Stateless.
 *
 * <p>A record is an object of its components in their order, a map an object of its entries, an
 * iterable or an array an array, an enum constant its name, a number or boolean itself, anything
 * else a string. A component that is an empty {@link Optional} or a {@link Style} is left out.
 *
 * <p>Units stand in the names: a {@link Duration} is written in milliseconds, to the microsecond,
 * under its component's name with {@code Millis} behind it, or under {@code millis} where the
 * component is called {@code duration}. Names of sizes end in {@code Bytes}; the components do.
 */
public final class Json {
  private static final double LARGEST_EXACT = 1e15;

  private Json() {}

  /** Returns a factory that keeps no buffers: Jackson's usual one leaves them on the thread. */
  public static JsonFactory factory() {
    return JsonFactory.builder().recyclerPool(JsonRecyclerPools.nonRecyclingPool()).build();
  }

  /** Returns a value as one line. */
  public static String line(Object value) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = factory().createGenerator(text)) {
      write(json, value);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter throws none
    }
    return text.toString();
  }

  private static void write(JsonGenerator json, Object value) throws IOException {
    switch (value) {
      case Fields fields -> {
        json.writeStartObject();
        fields.write(json);
        json.writeEndObject();
      }
      case Record item -> {
        json.writeStartObject();
        for (RecordComponent component : item.getClass().getRecordComponents()) {
          field(json, component.getName(), read(item, component.getAccessor()));
        }
        json.writeEndObject();
      }
      case Map<?, ?> map -> {
        json.writeStartObject();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          field(json, entry.getKey().toString(), entry.getValue());
        }
        json.writeEndObject();
      }
      case Iterable<?> items when !(items instanceof java.nio.file.Path) -> {
        json.writeStartArray();
        for (Object item : items) {
          write(json, item);
        }
        json.writeEndArray();
      }
      case Duration time -> number(json, Math.round(time.toNanos() / 1e3) / 1e3);
      case Double number -> number(json, number);
      case Float number -> number(json, number);
      case Number number -> json.writeNumber(number.longValue());
      case Boolean truth -> json.writeBoolean(truth);
      case Enum<?> constant -> json.writeString(constant.name());
      case Object array when array.getClass().isArray() -> {
        json.writeStartArray();
        for (int i = 0; i < Array.getLength(array); i++) {
          write(json, Array.get(array, i));
        }
        json.writeEndArray();
      }
      default -> json.writeString(value.toString());
    }
  }

  private static void field(JsonGenerator json, String name, Object value) throws IOException {
    Object present = value instanceof Optional<?> optional ? optional.orElse(null) : value;
    if (present != null && !(present instanceof Style)) {
      boolean isTime = present instanceof Duration;
      json.writeFieldName(!isTime ? name : name.equals("duration") ? "millis" : name + "Millis");
      write(json, present);
    }
  }

  /** Reads a component; the record's class may be its bundle's own affair. */
  private static Object read(Record item, Method accessor) {
    try {
      accessor.setAccessible(true);
      return accessor.invoke(item);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot read " + accessor, e);
    }
  }

  /**
   * Writes a number, as an integer where it is one. JSON has no infinities nor NaN, which become
   * strings; a number that was a float is written as its much shorter decimal.
   */
  public static void number(JsonGenerator json, double value) throws IOException {
    if (!Double.isFinite(value)) {
      json.writeString(Double.toString(value));
    } else if (value == Math.rint(value) && Math.abs(value) < LARGEST_EXACT) {
      json.writeNumber((long) value);
    } else if (value == (float) value) {
      json.writeNumber((float) value);
    } else {
      json.writeNumber(value);
    }
  }

  /** Milliseconds with microseconds' resolution. */
  public static void millis(JsonGenerator json, String field, long nanos) throws IOException {
    json.writeFieldName(field);
    number(json, Math.round(nanos / 1e3) / 1e3);
  }

  /** The fields of one object, written by hand. */
  @FunctionalInterface
  public interface Fields {
    void write(JsonGenerator json) throws IOException;
  }
}
