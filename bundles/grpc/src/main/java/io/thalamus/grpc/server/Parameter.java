// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

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
  private static final int KEY = MessageReader.tag(1, MessageReader.LENGTH);
  private static final int VALUE = MessageReader.tag(2, MessageReader.LENGTH);
  private static final int FLAG = MessageReader.tag(1, MessageReader.VARINT);
  private static final int INTEGER = MessageReader.tag(2, MessageReader.VARINT);
  private static final int TEXT = MessageReader.tag(3, MessageReader.LENGTH);
  private static final int REAL = MessageReader.tag(4, MessageReader.FIXED64);
  private static final int UNSIGNED = MessageReader.tag(5, MessageReader.VARINT);

  /** Reads an entry of a map of parameters. */
  static Parameter read(MessageReader in) throws IOException {
    String name = "";
    Object value = null;
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == KEY) {
        name = in.text();
      } else if (tag == VALUE) {
        value = value(in);
      } else {
        in.skip(tag);
      }
    }
    in.leave(outer);
    return new Parameter(name, value);
  }

  private static Object value(MessageReader in) throws IOException {
    Object value = null;
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == FLAG) {
        value = in.varint() != 0;
      } else if (tag == INTEGER || tag == UNSIGNED) {
        value = in.varint();
      } else if (tag == TEXT) {
        value = in.text();
      } else if (tag == REAL) {
        value = Double.longBitsToDouble(in.fixed64());
      } else {
        in.skip(tag);
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
