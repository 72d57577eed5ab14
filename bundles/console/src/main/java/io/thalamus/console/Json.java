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
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
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

  /**
   * Returns an object for JSON whose fields are not a record's components: names and values by
   * turns, of which the rules for components hold. The map may be changed.
   */
  public static Map<String, Object> object(Object... namesAndValues) {
    Map<String, Object> fields = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      put(fields, (String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return fields;
  }

  private static void put(Map<String, Object> fields, String name, Object value) {
    Object present = value instanceof Optional<?> optional ? optional.orElse(null) : value;
    if (present != null && !(present instanceof Style)) {
      boolean isTime = present instanceof Duration;
      fields.put(!isTime ? name : name.equals("duration") ? "millis" : name + "Millis", present);
    }
  }

  private static Map<String, Object> object(Record item) {
    Map<String, Object> fields = new LinkedHashMap<>();
    for (RecordComponent component : item.getClass().getRecordComponents()) {
      put(fields, component.getName(), read(item, component.getAccessor()));
    }
    return fields;
  }

  private static void write(JsonGenerator json, Object value) throws IOException {
    switch (value) {
      case Record item -> write(json, object(item));
      case Map<?, ?> map -> {
        json.writeStartObject();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          json.writeFieldName(entry.getKey().toString());
          write(json, entry.getValue());
        }
        json.writeEndObject();
      }
      case Iterable<?> items when !(items instanceof Path) -> {
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
}
