// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/** The bytes of a segment. Used by one thread at a time. */
final class SegmentInputStream extends InputStream {
  private final MemorySegment segment;
  private long position;

  SegmentInputStream(MemorySegment segment) {
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
  public int available() {
    return (int) Math.min(Integer.MAX_VALUE, segment.byteSize() - position);
  }
}
