// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Messages as a client without generated ones writes and reads them. */
final class Messages {
  private Messages() {}

  static MessageWriter message() {
    return new MessageWriter();
  }

  /** Returns the values of a field, in order: texts, integers as digits. */
  static List<String> field(byte[] message, int field) throws IOException {
    MessageReader in = new MessageReader(new ByteArrayInputStream(message));
    List<String> values = new ArrayList<>();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == MessageReader.tag(field, MessageReader.LENGTH)) {
        values.add(in.text());
      } else if (tag == MessageReader.tag(field, MessageReader.VARINT)) {
        values.add(Long.toString(in.varint()));
      } else {
        in.skip(tag);
      }
    }
    return values;
  }

  /** Returns the values of a field as bytes. */
  static List<byte[]> bytes(byte[] message, int field) throws IOException {
    MessageReader in = new MessageReader(new ByteArrayInputStream(message));
    List<byte[]> values = new ArrayList<>();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == MessageReader.tag(field, MessageReader.LENGTH)) {
        byte[] value = new byte[(int) in.length()];
        in.bytes(MemorySegment.ofArray(value));
        values.add(value);
      } else {
        in.skip(tag);
      }
    }
    return values;
  }

  static byte[] floats(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return bytes.array();
  }

  /** Returns a request with one input of typed contents. */
  static MessageWriter typed(String id, float... values) {
    MessageWriter tensor =
        message()
            .text(1, "x")
            .text(2, "FP32")
            .integers(3, List.of((long) values.length))
            .message(5, message().bytes(6, floats(values)));
    return message().text(1, "echo").text(3, id).message(5, tensor);
  }
}
