// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/** The bytes of a segment as a stream. Used by one thread at a time. */
public final class SegmentInputStream extends InputStream {
  private final MemorySegment segment;
  private long position;

  /** A stream from the first byte on. */
  public SegmentInputStream(MemorySegment segment) {
    this.segment = segment;
  }

  @Override
  public int read() {
    return position == segment.byteSize()
        ? -1
        : Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, position++));
  }

  @Override
  public int read(byte[] target, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, target.length);
    int count = (int) Math.min(length, segment.byteSize() - position);
    if (count == 0) {
      return length == 0 ? 0 : -1;
    }
    MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, position, target, offset, count);
    position += count;
    return count;
  }

  @Override
  public long skip(long count) {
    long skipped = Math.clamp(count, 0, segment.byteSize() - position);
    position += skipped;
    return skipped;
  }

  @Override
  public int available() {
    return (int) Math.min(Integer.MAX_VALUE, segment.byteSize() - position);
  }
}
