// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.wire;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A message as it is written, field by field; those that have their default are left out. */
public final class MessageWriter {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);

  /** Returns the message. */
  public byte[] toBytes() {
    return bytes.toByteArray();
  }

  private void tag(int field, int wireType) {
    varint(MessageReader.tag(field, wireType));
  }

  private void varint(long value) {
    long rest = value;
    while (rest >>> 7 != 0) {
      bytes.write((int) (rest & 0x7f | 0x80));
      rest >>>= 7;
    }
    bytes.write((int) rest);
  }

  /** Writes an integer. */
  public MessageWriter integer(int field, long value) {
    return value == 0 ? this : present(field, value);
  }

  /** Writes an integer, 0 too. */
  public MessageWriter present(int field, long value) {
    tag(field, MessageReader.VARINT);
    varint(value);
    return this;
  }

  /** Writes a flag. */
  public MessageWriter flag(int field, boolean value) {
    return integer(field, value ? 1 : 0);
  }

  /** Writes a text. */
  public MessageWriter text(int field, String value) {
    return value.isEmpty() ? this : bytes(field, value.getBytes(StandardCharsets.UTF_8));
  }

  /** Writes texts, empty ones too. */
  public MessageWriter texts(int field, List<String> values) {
    values.forEach(value -> bytes(field, value.getBytes(StandardCharsets.UTF_8)));
    return this;
  }

  /** Writes integers as one field. */
  public MessageWriter integers(int field, List<Long> values) {
    MessageWriter packed = new MessageWriter();
    values.forEach(packed::varint);
    return values.isEmpty() ? this : bytes(field, packed.toBytes());
  }

  /** Writes a message, an empty one too. */
  public MessageWriter message(int field, MessageWriter value) {
    return bytes(field, value.toBytes());
  }

  /** Writes an entry of a map from texts. */
  public MessageWriter entry(int field, String key, MessageWriter value) {
    return message(field, new MessageWriter().text(1, key).message(2, value));
  }

  /** Writes bytes, none too. */
  public MessageWriter bytes(int field, byte[] value) {
    length(field, value.length);
    bytes.writeBytes(value);
    return this;
  }

  /** Writes the head of a field whose bytes are put behind by somebody else. */
  public MessageWriter length(int field, long length) {
    tag(field, MessageReader.LENGTH);
    varint(length);
    return this;
  }
}
