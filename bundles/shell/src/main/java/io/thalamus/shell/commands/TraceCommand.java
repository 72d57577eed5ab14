// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Arguments;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.picture.GanttPicture;
import io.thalamus.shell.results.TraceResult;
import io.thalamus.shell.tensor.OutputFile;
import io.thalamus.shell.trace.ChromeTrace;
import io.thalamus.shell.trace.Recorder;
import io.thalamus.shell.trace.TraceEvent;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Component;

/** {@code nn:trace}: a recording of what runs. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=trace"})
public final class TraceCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:trace",
              "FILE [-- COMMAND...]",
              "Records what runs where and when, in all applications: while a COMMAND runs, or for"
                  + " some seconds. FILE.svg gets a picture of the last steps, any other FILE a"
                  + " trace that Perfetto and chrome://tracing read.")
          .offering(Inputs.FILE)
          .option("seconds", "S", "how long to record where no COMMAND is given (3)");

  private static final double USUAL_SECONDS = 3;

  /** Called by the component runtime. */
  public TraceCommand() {
    super(SYNTAX);
  }

  /** Runs the command. */
  @Descriptor("record what runs where and when: a trace for Perfetto, or a picture")
  public Result trace(
      CommandSession session, @Descriptor("FILE [-- COMMAND...] " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, invocation -> record(session, invocation));
  }

  private static Result record(CommandSession session, Invocation invocation) throws Exception {
    Arguments arguments = invocation.arguments();
    List<String> command = arguments.operands().subList(1, arguments.operands().size());
    if (!command.isEmpty() && arguments.has("seconds")) {
      throw invocation.usage("give --seconds or a COMMAND, not both");
    }
    Path file = invocation.path(invocation.operand());
    String title = command.isEmpty() ? "all applications" : String.join(" ", command);
    try (Recording recording = new Recording(file, title)) {
      Exception failure = null;
      try {
        if (command.isEmpty()) {
          Thread.sleep(BenchCommand.seconds(arguments, USUAL_SECONDS));
        } else {
          run(session, command, invocation);
        }
      } catch (Exception e) {
        // What was recorded until then says why.
        failure = e;
      }
      List<TraceEvent> trace = recording.write();
      if (failure != null) {
        throw failure;
      }
      return new TraceResult(file, trace, invocation.style());
    }
  }

  /**
   * A recording that is written once: by the command, or by the end of the process if that comes
   * before, as by Ctrl-C or SIGTERM. Thread-safe.
   */
  private static final class Recording implements AutoCloseable {
    private final Recorder recorder;
    private final Path file;
    private final String title;
    private final Thread hook = new Thread(this::end, "thalamus-trace");
    private List<TraceEvent> trace;

    Recording(Path file, String title) throws IOException {
      this.file = file;
      this.title = title;
      this.recorder = new Recorder();
      Runtime.getRuntime().addShutdownHook(hook);
    }

    List<TraceEvent> write() throws IOException {
      return write(false);
    }

    private synchronized List<TraceEvent> write(boolean isEnd) throws IOException {
      if (trace == null) {
        trace = isEnd ? recorder.awaitEnd() : recorder.stop();
        boolean isPicture = file.toString().endsWith(".svg");
        OutputFile.write(file, isPicture ? GanttPicture.of(trace, title) : ChromeTrace.of(trace));
      }
      return trace;
    }

    private void end() {
      try {
        write(true);
      } catch (IOException | RuntimeException e) {
        System.err.println("thalamus: no trace was written: " + e.getMessage());
      }
    }

    @Override
    public void close() throws IOException {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        // The process ends, and the hook may be about to write: the recording ends with it.
        return;
      }
      recorder.close();
    }
  }

  /** Runs another command, whose words Gogo must not change, and shows its result before ours. */
  private static void run(CommandSession session, List<String> command, Invocation invocation)
      throws Exception {
    String name = command.getFirst();
    String line =
        command.stream()
            .skip(1)
            .map(word -> " '" + word.replace("\\", "\\\\").replace("'", "\\'") + "'")
            .collect(Collectors.joining("", name.contains(":") ? name : "nn:" + name, ""));
    Object result = session.execute(line);
    if (result instanceof Result shown && !invocation.style().json()) {
      invocation.out().println(shown.show() + "\n");
    }
  }
}
