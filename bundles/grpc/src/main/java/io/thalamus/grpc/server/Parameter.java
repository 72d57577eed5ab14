// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import static io.thalamus.grpc.wire.MessageReader.FIXED64;
import static io.thalamus.grpc.wire.MessageReader.LENGTH;
import static io.thalamus.grpc.wire.MessageReader.VARINT;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;

/**
 * A parameter of a request. Immutable.
 *
 * @param value a Boolean, Long, String or Double, as the client chose; null if it chose none
 */
record Parameter(String name, Object value) {
  /** Reads an entry of a map of parameters. */
  static Parameter read(MessageReader in) throws IOException {
    String name = "";
    Object value = null;
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 1 << 3 | LENGTH -> name = in.text();
        case 2 << 3 | LENGTH -> value = value(in);
        default -> in.skip(tag);
      }
    }
    in.leave(outer);
    return new Parameter(name, value);
  }

  private static Object value(MessageReader in) throws IOException {
    Object value = null;
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 1 << 3 | VARINT -> value = in.varint() != 0;
        case 2 << 3 | VARINT, 5 << 3 | VARINT -> value = in.varint();
        case 3 << 3 | LENGTH -> value = in.text();
        case 4 << 3 | FIXED64 -> value = Double.longBitsToDouble(in.fixed64());
        default -> in.skip(tag);
      }
    }
    in.leave(outer);
    return value;
  }

  boolean flag() throws ServingException {
    if (value instanceof Boolean flag) {
      return flag;
    }
    throw wrong("a bool_param");
  }

  String text() throws ServingException {
    if (value instanceof String text) {
      return text;
    }
    throw wrong("a string_param");
  }

  /** Returns an integer that is not negative. */
  long natural() throws ServingException {
    if (value instanceof Long number && number >= 0) {
      return number;
    }
    throw wrong("an int64_param of at least 0");
  }

  ServingException wrong(String expected) {
    return ServingException.invalid(
        "parameter " + name + " is " + Texts.cut(String.valueOf(value)) + ": expected " + expected);
  }
}
