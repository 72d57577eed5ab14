// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** JSON on one line. Stateless. */
public final class Json {
  private Json() {}

  /** A factory that keeps no buffers: Jackson's usual one leaves them on the caller's thread. */
  public static JsonFactory factory() {
    return JsonFactory.builder().recyclerPool(JsonRecyclerPools.nonRecyclingPool()).build();
  }

  /** One object on one line. */
  public static String line(Result result) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = factory().createGenerator(text)) {
      json.writeStartObject();
      result.json(json);
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter throws none
    }
    return text.toString();
  }

  /**
   * A number; JSON has no infinities nor NaN, which become strings.
   *
   * @param value written without a fraction where it has none
   */
  public static void number(JsonGenerator json, double value) throws IOException {
    if (!Double.isFinite(value)) {
      json.writeString(Double.toString(value));
    } else if (value == Math.rint(value) && Math.abs(value) < 1e15) {
      json.writeNumber((long) value);
    } else if (value == (float) value) {
      // It was a float, whose shortest decimal is much shorter.
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
}
