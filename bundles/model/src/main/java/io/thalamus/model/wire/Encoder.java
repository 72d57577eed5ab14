// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

/** Bytes while they are written. Used by one thread. */
public final class Encoder {
  private static final int INITIAL_SIZE = 256;

  private ByteBuffer buffer = ByteBuffer.allocate(INITIAL_SIZE);

  private ByteBuffer room(int bytes) {
    if (buffer.remaining() < bytes) {
      int needed = Math.addExact(buffer.position(), bytes);
      int doubled = (int) Math.min(2L * buffer.capacity(), Integer.MAX_VALUE - 8);
      buffer = ByteBuffer.allocate(Math.max(needed, doubled)).put(buffer.flip());
    }
    return buffer;
  }

  /** Writes a byte. */
  public Encoder int8(int value) {
    room(Byte.BYTES).put((byte) value);
    return this;
  }

  /** Writes an int. */
  public Encoder int32(int value) {
    room(Integer.BYTES).putInt(value);
    return this;
  }

  /** Writes a long. */
  public Encoder int64(long value) {
    room(Long.BYTES).putLong(value);
    return this;
  }

  /** Writes a float, bit for bit. */
  public Encoder float32(float value) {
    return int32(Float.floatToRawIntBits(value));
  }

  /** Writes a truth value. */
  public Encoder bool(boolean value) {
    return int8(value ? 1 : 0);
  }

  /** Writes a constant of an enumeration. */
  public Encoder constant(Enum<?> value) {
    return int8(value.ordinal());
  }

  /** Writes bytes and how many they are. */
  public Encoder bytes(byte[] value) {
    int32(value.length);
    room(value.length).put(value);
    return this;
  }

  /** Writes a text. */
  public Encoder text(String value) {
    return bytes(value.getBytes(StandardCharsets.UTF_8));
  }

  /** Writes ints and how many they are. */
  public Encoder ints(int[] values) {
    int32(values.length);
    for (int value : values) {
      int32(value);
    }
    return this;
  }

  /** Writes elements and how many they are. */
  public <T> Encoder list(List<T> values, BiConsumer<Encoder, ? super T> element) {
    int32(values.size());
    values.forEach(value -> element.accept(this, value));
    return this;
  }

  /** Writes a value, or that there is none. */
  public <T> Encoder optional(Optional<T> value, BiConsumer<Encoder, ? super T> element) {
    bool(value.isPresent());
    value.ifPresent(present -> element.accept(this, present));
    return this;
  }

  /** Returns the bytes that were written. */
  public byte[] toArray() {
    byte[] bytes = new byte[buffer.position()];
    buffer.get(0, bytes);
    return bytes;
  }
}
