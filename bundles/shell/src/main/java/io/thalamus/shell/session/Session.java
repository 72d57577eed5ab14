// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.channels.ReadableByteChannel;
import java.util.List;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.CommandSessionImpl;
import org.apache.felix.service.command.Function;
import org.apache.felix.service.command.Job;
import org.apache.felix.service.command.JobListener;

/**
 * A Gogo session that lasts: no interrupt closes its streams, no loop keeps its turns. Runs one
 * statement at a time; the streams belong to whoever opened it. {@code exit} and {@code quit} end
 * it with an {@link ExitRequest}.
 */
public final class Session extends CommandSessionImpl {
  private static final String SCOPE = "nn:gogo:*";

  private final Channels.Output errors;
  private volatile JobListener watcher;
  private volatile int lastError;

  /** A session of Gogo's over streams. */
  public Session(CommandProcessorImpl gogo, InputStream in, PrintStream out, OutputStream err) {
    super(gogo, in, out, err);
    errors = new Channels.Output(err);
    channels[1] = new Channels.Output(out);
    channels[2] = errors;
    put("SCOPE", SCOPE);
    setJobListener(this::changed);
    Function exit =
        (_, words) -> {
          throw ExitRequest.of(words);
        };
    put("exit", exit);
    put("quit", exit);
  }

  /** Ends the session, and with it what others report there: a container that stops logs more. */
  @Override
  public void close() {
    put("nn.notices", null);
    super.close();
  }

  /** Takes another channel for what is typed. */
  void input(ReadableByteChannel channel) {
    channels[0] = channel;
  }

  /** Informs a listener of jobs as well, since Gogo has one listener for each session. */
  void watch(JobListener listener) {
    watcher = listener;
  }

  /** Returns what commands write their remarks to. */
  Channels.Output errors() {
    return errors;
  }

  /** Returns the code that the last statement's command has set, and forgets it. */
  int takeError() {
    int error = lastError;
    lastError = 0;
    return error;
  }

  private void changed(Job job, Job.Status previous, Job.Status current) {
    if (current == Job.Status.Done) {
      if (job.parent() != null) {
        forget(job);
      } else if (job.result() != null) {
        lastError = job.result().error();
      }
    }
    if (watcher != null) {
      watcher.jobChanged(job, previous, current);
    }
  }

  /** Gogo keeps each statement that a loop has run, and offers no way to its list. */
  private static void forget(Job job) {
    try {
      Field field = job.parent().getClass().getDeclaredField("children");
      field.setAccessible(true);
      List<?> children = (List<?>) field.get(job.parent());
      synchronized (children) {
        children.remove(job);
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("another Gogo than this was written for", e);
    }
  }
}
