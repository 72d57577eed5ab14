// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import org.jline.utils.NonBlockingInputStream;

/** Channels over a session's streams that an interrupted thread cannot close. Thread-safe. */
final class Channels {
  private static final long PAUSE_MILLIS = 100;

  private Channels() {}

  /** The session's output, which belongs to whoever opened the session. */
  record Output(OutputStream stream) implements WritableByteChannel {
    @Override
    public int write(ByteBuffer source) throws IOException {
      byte[] bytes = new byte[source.remaining()];
      source.get(bytes);
      stream.write(bytes);
      stream.flush();
      return bytes.length;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  /** What is typed into a terminal; an interrupt ends the read and leaves the terminal open. */
  record Input(NonBlockingInputStream stream) implements ReadableByteChannel {
    @Override
    public int read(ByteBuffer target) throws IOException {
      if (!target.hasRemaining()) {
        return 0;
      }
      int next = NonBlockingInputStream.READ_EXPIRED;
      while (next == NonBlockingInputStream.READ_EXPIRED) {
        if (Thread.currentThread().isInterrupted()) {
          throw new ClosedByInterruptException();
        }
        next = stream.read(PAUSE_MILLIS);
      }
      if (next < 0) {
        return -1;
      }
      target.put((byte) next);
      return 1;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  /** Returns the channel of a terminal's input, or the one from before for any other stream. */
  static ReadableByteChannel input(InputStream stream, ReadableByteChannel before) {
    return stream instanceof NonBlockingInputStream typed ? new Input(typed) : before;
  }
}
