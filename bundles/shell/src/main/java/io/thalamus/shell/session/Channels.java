// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jline.utils.NonBlockingInputStream;

/** Channels over a session's streams that an interrupted thread cannot close. Thread-safe. */
final class Channels {
  private static final long PAUSE_MILLIS = 100;
  private static final int END_OF_TEXT = 4;

  /** The beginning of what Gogo says of a failed stage of a pipe. */
  private static final Pattern STAGE = Pattern.compile("^gogo: \\w+: ");

  /** Messages of interrupted commands, which the user who pressed Ctrl-C does not need. */
  private static final Pattern INTERRUPTED =
      Pattern.compile(".*(Interrupted(IO)?Exception|ClosedByInterruptException|: interrupted$).*");

  private Channels() {}

  /** The session's output, which belongs to whoever opened the session. */
  static final class Output implements WritableByteChannel {
    private final OutputStream stream;
    private ByteArrayOutputStream held;

    Output(OutputStream stream) {
      this.stream = stream;
    }

    @Override
    public synchronized int write(ByteBuffer source) throws IOException {
      byte[] bytes = new byte[source.remaining()];
      source.get(bytes);
      if (held != null) {
        held.writeBytes(bytes);
        return bytes.length;
      }
      if (bytes.length > 5 && bytes[0] == 'g' && bytes[4] == ':') {
        String text = new String(bytes, StandardCharsets.UTF_8);
        stream.write(
            STAGE.matcher(text).replaceFirst("thalamus: ").getBytes(StandardCharsets.UTF_8));
      } else {
        stream.write(bytes);
      }
      stream.flush();
      return bytes.length;
    }

    /** Keeps what is written back, until the statement that was interrupted has ended. */
    synchronized void hold() {
      if (held == null) {
        held = new ByteArrayOutputStream();
      }
    }

    /** Writes what was kept back, but for the complaints about the interrupt. */
    synchronized void release() throws IOException {
      if (held != null) {
        String text = held.toString(StandardCharsets.UTF_8);
        held = null;
        String rest =
            text.lines()
                .filter(line -> !INTERRUPTED.matcher(line).matches())
                .map(line -> line + "\n")
                .collect(Collectors.joining());
        stream.write(rest.getBytes(StandardCharsets.UTF_8));
        stream.flush();
      }
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  /** The input of a terminal; an interrupt ends the read and leaves the terminal open. */
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
      if (next < 0 || next == END_OF_TEXT) {
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
}
