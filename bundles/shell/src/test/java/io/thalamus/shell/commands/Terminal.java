// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Command;
import io.thalamus.console.ResultConverter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;
import org.apache.felix.service.command.Descriptor;
import org.apache.felix.service.command.Process;
import org.apache.felix.service.threadio.ThreadIO;

/** A Gogo session over a few commands, whose output is kept. */
final class Terminal implements AutoCloseable {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final CommandProcessorImpl processor = new CommandProcessorImpl(new NoThreadIo());
  final CommandSession session;

  Terminal(Path directory, Object... commands) {
    for (Object command : commands) {
      for (Method method : command.getClass().getMethods()) {
        if (method.isAnnotationPresent(Descriptor.class)) {
          processor.addCommand("nn", command, Command.function(method));
        }
      }
    }
    processor.addCommand("test", new Upper(), "upper");
    processor.addConverter(new ResultConverter());
    session =
        processor.createSession(
            new ByteArrayInputStream(new byte[0]),
            new PrintStream(out, true, StandardCharsets.UTF_8),
            new PrintStream(err, true, StandardCharsets.UTF_8));
    session.currentDir(directory);
  }

  /** Gogo's own replaces System.out for all threads of the JVM, other tests' too. */
  private static final class NoThreadIo implements ThreadIO {
    @Override
    public void setStreams(InputStream in, PrintStream out, PrintStream err) {}

    @Override
    public void close() {}
  }

  /** The end of a pipe. */
  public static final class Upper {
    public String upper() throws IOException {
      byte[] piped = Process.Utils.current().in().readAllBytes();
      return new String(piped, StandardCharsets.UTF_8).toUpperCase(Locale.ROOT);
    }
  }

  /** Types a line and returns what it printed, its result included. */
  String type(String line) throws Exception {
    out.reset();
    Object result = session.execute(line);
    String printed = out.toString(StandardCharsets.UTF_8);
    return result == null ? printed : printed + session.format(result, Converter.INSPECT);
  }

  /** Returns the standard output since the last line was typed, results aside. */
  String printed() {
    return out.toString(StandardCharsets.UTF_8);
  }

  /** Returns the standard error since the session began. */
  String errors() {
    return err.toString(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    session.close();
    processor.stop();
  }
}
