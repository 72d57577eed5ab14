// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.wire;

import io.grpc.Drainable;
import io.grpc.KnownLength;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * A message to be sent, in parts. Immutable.
 *
 * @param parts in order, on the heap or off it; valid until the message was handed to gRPC
 */
public record Reply(List<MemorySegment> parts) {
  private static final int CHUNK = 32 * 1024;

  public Reply {
    parts = List.copyOf(parts);
  }

  /** A message that was written as a whole. */
  public static Reply of(MessageWriter message) {
    return new Reply(List.of(MemorySegment.ofArray(message.toBytes())));
  }

  /** Returns the message as gRPC takes it: it asks for all of it at once. */
  public InputStream stream() {
    return new Stream(parts);
  }

  private static final class Stream extends InputStream implements Drainable, KnownLength {
    private final List<MemorySegment> parts;
    private long position;

    Stream(List<MemorySegment> parts) {
      this.parts = parts;
    }

    private long size() {
      return parts.stream().mapToLong(MemorySegment::byteSize).sum();
    }

    @Override
    public int available() {
      return Math.toIntExact(size() - position);
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      byte[] chunk = new byte[(int) Math.min(CHUNK, size())];
      int sent = 0;
      int count = read(chunk);
      while (count > 0) {
        target.write(chunk, 0, count);
        sent += count;
        count = read(chunk);
      }
      return sent;
    }

    @Override
    public int read() {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) {
      long begin = 0;
      int done = 0;
      for (MemorySegment part : parts) {
        long within = position - begin;
        if (within >= 0 && within < part.byteSize() && done < length) {
          int count = (int) Math.min(part.byteSize() - within, length - done);
          MemorySegment.copy(part, ValueLayout.JAVA_BYTE, within, target, offset + done, count);
          position += count;
          done += count;
        }
        begin += part.byteSize();
      }
      return done == 0 && length > 0 ? -1 : done;
    }
  }
}
