// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.wire;

import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * The fields of a message as they come from a stream. Values of bytes go from there to where they
 * are wanted, without another copy of the whole. Of one thread.
 */
public final class MessageReader {
  /** Wire type of integers of one to ten bytes. */
  public static final int VARINT = 0;

  /** Wire type of eight bytes. */
  public static final int FIXED64 = 1;

  /** Wire type of a length and as many bytes. */
  public static final int LENGTH = 2;

  /** Wire type of four bytes. */
  public static final int FIXED32 = 5;

  private static final int MOST_VARINT_BYTES = 10;
  private static final int BUFFER = 16 * 1024;

  private final InputStream in;
  private final byte[] buffer = new byte[BUFFER];
  private int next;
  private int filled;

  /** The bytes that were taken from the buffer. */
  private long position;

  /**
   * The position at which the message ends that is being read; nobody knows where the first does.
   */
  private long end = Long.MAX_VALUE;

  private int depth;

  /** A reader of the message that is all of a stream. */
  public MessageReader(InputStream in) {
    this.in = in;
  }

  /** Returns the tag of a field with this wire type. */
  public static int tag(int field, int wireType) {
    return field << 3 | wireType;
  }

  /** Returns the tag of the next field; 0 at the end of the message. */
  public int next() throws IOException {
    if (position == end) {
      return 0;
    }
    if (depth == 0 && !fill()) {
      return 0;
    }
    long tag = varint();
    if (tag >>> 3 == 0 || tag >>> 32 != 0) {
      throw new WireException("field number " + (tag >>> 3) + " at byte " + position);
    }
    return (int) tag;
  }

  /** Makes at least one byte available; returns false at the end of the stream. */
  private boolean fill() throws IOException {
    if (next < filled) {
      return true;
    }
    next = 0;
    try {
      filled = Math.max(0, in.read(buffer, 0, buffer.length));
    } catch (StatusRuntimeException e) {
      // So gRPC's streams end where a compressed message becomes larger than is taken.
      throw new IOException(e.getStatus().getDescription(), e);
    }
    return filled > 0;
  }

  private int one() throws IOException {
    if (position == end || !fill()) {
      throw truncated();
    }
    position++;
    return buffer[next++] & 0xff;
  }

  private WireException truncated() {
    return new WireException("it ends within a field, at byte " + position);
  }

  /** Returns an integer of one to ten bytes. */
  public long varint() throws IOException {
    long value = 0;
    for (int i = 0; i < MOST_VARINT_BYTES; i++) {
      int each = one();
      value |= (long) (each & 0x7f) << 7 * i;
      if (each < 0x80) {
        return value;
      }
    }
    throw new WireException("an integer of more than ten bytes at byte " + position);
  }

  /** Returns four bytes as an integer. */
  public int fixed32() throws IOException {
    return one() | one() << 8 | one() << 16 | one() << 24;
  }

  /** Returns eight bytes as an integer. */
  public long fixed64() throws IOException {
    return fixed32() & 0xffffffffL | (long) fixed32() << 32;
  }

  /** Returns the length of the bytes that follow, which are within the message. */
  public long length() throws IOException {
    long length = varint();
    if (length < 0 || length > Integer.MAX_VALUE || length > end - position) {
      throw truncated();
    }
    return length;
  }

  /** Begins a message within this one, and returns what {@link #leave} is to be given. */
  public long enter() throws IOException {
    long length = length();
    long outer = end;
    end = position + length;
    depth++;
    return outer;
  }

  /** Ends a message within this one, which must have been read. */
  public void leave(long outer) throws IOException {
    if (position != end) {
      throw new WireException("a message has fields behind its end, at byte " + position);
    }
    end = outer;
    depth--;
  }

  /** Returns whether there is more of what {@link #enter} began. */
  public boolean hasMore() {
    return position < end;
  }

  /** Fills a segment with the next bytes. */
  public void bytes(MemorySegment target) throws IOException {
    long size = target.byteSize();
    if (size > end - position) {
      throw truncated();
    }
    long done = 0;
    while (done < size) {
      if (!fill()) {
        throw truncated();
      }
      int part = (int) Math.min(size - done, filled - next);
      MemorySegment.copy(buffer, next, target, ValueLayout.JAVA_BYTE, done, part);
      next += part;
      position += part;
      done += part;
    }
  }

  /** Returns a text after its length. */
  public String text() throws IOException {
    long length = length();
    if (length > BUFFER) {
      throw new WireException("a text of " + length + " bytes: expected at most " + BUFFER);
    }
    byte[] bytes = new byte[(int) length];
    bytes(MemorySegment.ofArray(bytes));
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new WireException("a text that is not UTF-8, before byte " + position);
    }
  }

  /** Reads a message of which field 1 alone counts, and returns that text; empty without it. */
  public String onlyText() throws IOException {
    String text = "";
    for (int tag = next(); tag != 0; tag = next()) {
      if (tag == tag(1, LENGTH)) {
        text = text();
      } else {
        skip(tag);
      }
    }
    return text;
  }

  /** Leaves out the value of a field. */
  public void skip(int tag) throws IOException {
    switch (tag & 7) {
      case VARINT -> varint();
      case FIXED32 -> fixed32();
      case FIXED64 -> fixed64();
      case LENGTH -> {
        long left = length();
        while (left > 0) {
          if (!fill()) {
            throw truncated();
          }
          int part = (int) Math.min(left, filled - next);
          next += part;
          position += part;
          left -= part;
        }
      }
      default -> throw new WireException("wire type " + (tag & 7) + " of field " + (tag >>> 3));
    }
  }
}
