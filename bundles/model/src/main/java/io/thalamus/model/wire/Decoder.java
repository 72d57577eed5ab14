// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.wire;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Bytes while they are read. Trusts nothing: whatever the bytes are, {@link #all} ends with a value
 * or a {@link WireFormatException}, and allocates no more than a small multiple of what there is to
 * read. Used by one thread.
 */
public final class Decoder {
  private final ByteBuffer buffer;

  /** Reads these bytes, which must not change meanwhile. */
  public Decoder(byte[] bytes) {
    this.buffer = ByteBuffer.wrap(bytes);
  }

  /**
   * One value among the bytes.
   *
   * @param <T> its type
   */
  @FunctionalInterface
  public interface Element<T> {
    /** Reads the value. May throw what a constructor throws for values that it refuses. */
    T read(Decoder in) throws WireFormatException;
  }

  /** Reads all bytes as one value. */
  public <T> T all(Element<T> element) throws WireFormatException {
    T value = checked(element);
    if (buffer.hasRemaining()) {
      throw new WireFormatException(buffer.remaining() + " bytes too many");
    }
    return value;
  }

  /** Reads a value whose constructor may refuse what it is given. */
  private <T> T checked(Element<T> element) throws WireFormatException {
    try {
      return element.read(this);
    } catch (IllegalArgumentException | IndexOutOfBoundsException | ArithmeticException e) {
      throw new WireFormatException("impossible value: " + e.getMessage(), e);
    }
  }

  private void require(long bytes) throws WireFormatException {
    if (bytes > buffer.remaining()) {
      throw new WireFormatException(
          bytes + " bytes are missing, there are " + buffer.remaining() + " more");
    }
  }

  /** Reads a byte. */
  public int int8() throws WireFormatException {
    require(Byte.BYTES);
    return buffer.get();
  }

  /** Reads an int. */
  public int int32() throws WireFormatException {
    require(Integer.BYTES);
    return buffer.getInt();
  }

  /** Reads a long. */
  public long int64() throws WireFormatException {
    require(Long.BYTES);
    return buffer.getLong();
  }

  /** Reads a float, bit for bit. */
  public float float32() throws WireFormatException {
    return Float.intBitsToFloat(int32());
  }

  /** Reads a truth value. */
  public boolean bool() throws WireFormatException {
    int value = int8();
    if (value != 0 && value != 1) {
      throw new WireFormatException(value + " is no truth value");
    }
    return value == 1;
  }

  /** Reads a constant of an enumeration, all of which {@code values} are. */
  public <E extends Enum<E>> E constant(E[] values) throws WireFormatException {
    int ordinal = int8();
    if (ordinal < 0 || ordinal >= values.length) {
      throw new WireFormatException("no constant has the number " + ordinal);
    }
    return values[ordinal];
  }

  /** Reads how many elements follow, each of at least this many bytes. */
  private int count(int least) throws WireFormatException {
    int count = int32();
    if (count < 0) {
      throw new WireFormatException("negative count " + count);
    }
    require((long) count * least);
    return count;
  }

  /** Reads bytes that are preceded by how many they are. */
  public byte[] bytes() throws WireFormatException {
    byte[] value = new byte[count(1)];
    buffer.get(value);
    return value;
  }

  /** Reads a text. */
  public String text() throws WireFormatException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes())).toString();
    } catch (CharacterCodingException e) {
      throw new WireFormatException("a text is not UTF-8", e);
    }
  }

  /** Reads ints that are preceded by how many they are. */
  public int[] ints() throws WireFormatException {
    int[] values = new int[count(Integer.BYTES)];
    for (int i = 0; i < values.length; i++) {
      values[i] = int32();
    }
    return values;
  }

  /** Reads elements that are preceded by how many they are; each has at least one byte. */
  public <T> List<T> list(Element<T> element) throws WireFormatException {
    int count = count(1);
    List<T> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      values.add(element.read(this));
    }
    return values;
  }

  /** Reads a value if there is one. */
  public <T> Optional<T> optional(Element<T> element) throws WireFormatException {
    return bool() ? Optional.of(element.read(this)) : Optional.empty();
  }
}
