// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Progress;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.results.QosResult;
import io.thalamus.shell.trace.QosWindow;
import io.thalamus.shell.trace.TraceEvent;
import java.time.Duration;
import java.time.Instant;
import jdk.jfr.consumer.RecordingStream;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Component;

/** {@code nn:qos}: what devices and applications do now. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=qos"})
public final class QosCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:qos",
              "",
              "What devices, applications and models do now and did in the last ten seconds, while"
                  + " it goes on: what runs and waits, preemptions, rates, times, failures,"
                  + " fallbacks, missed deadlines, refusals and shares of the devices' time.")
          .option("seconds", "S", "how long to watch (10)");

  private static final double USUAL_SECONDS = 10;
  private static final Duration PAUSE = Duration.ofMillis(500);

  /** Called by the component runtime. */
  public QosCommand() {
    super(SYNTAX);
  }

  /** Runs the command. */
  @Descriptor("what devices and applications do now: queues, preemptions, misses")
  public Result qos(CommandSession session, @Descriptor(OPTIONS) String[] words) {
    return run(SYNTAX, session, words, QosCommand::watch);
  }

  private static Result watch(Invocation invocation) {
    Duration time = BenchCommand.seconds(invocation.arguments(), USUAL_SECONDS);
    QosWindow window = new QosWindow();
    boolean isInterrupted = false;
    try (RecordingStream stream = new RecordingStream();
        Progress progress = invocation.progress()) {
      stream.onEvent(event -> TraceEvent.of(event, Instant.EPOCH).ifPresent(window::add));
      stream.startAsync();
      window.begin(now());
      long end = System.nanoTime() + time.toNanos();
      for (long left = time.toNanos(); left > 0 && !isInterrupted; left = end - System.nanoTime()) {
        try {
          Thread.sleep(Duration.ofNanos(Math.min(left, PAUSE.toNanos())));
          progress.say(new QosResult(window.figures(now()), invocation.style()).text());
        } catch (InterruptedException e) {
          isInterrupted = true;
        }
      }
      // Whatever was written is read before that returns.
      stream.stop();
      return new QosResult(window.figures(now()), invocation.style());
    } finally {
      // The recorder's files would not be read by an interrupted thread.
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns the time since the epoch in nanoseconds, as events have it. */
  private static long now() {
    return Duration.between(Instant.EPOCH, Instant.now()).toNanos();
  }
}
