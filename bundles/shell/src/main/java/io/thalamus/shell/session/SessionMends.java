// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.channels.Channel;
import java.nio.channels.ReadableByteChannel;
import java.util.List;
import org.apache.felix.gogo.runtime.CommandSessionImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.CommandSessionListener;
import org.apache.felix.service.command.Job;
import org.apache.felix.service.command.JobListener;
import org.osgi.service.component.annotations.Component;

/**
 * The mends of Gogo's sessions, applied before each command. Thread-safe: each session is mended by
 * the thread that uses it.
 *
 * <p>Gogo writes through channels that close for good when an interrupted thread uses them, and
 * with them the terminal; a job keeps each statement that a loop in it has run; and completion
 * fails on names with a space. Its classes offer no other way to these fields than reflection.
 */
@Component(service = CommandSessionListener.class)
public final class SessionMends implements CommandSessionListener {
  private static final Field CHANNELS = field(CommandSessionImpl.class, "channels");
  private static final Field LISTENER = field(CommandSessionImpl.class, "jobListener");

  @Override
  public void beforeExecute(CommandSession session, CharSequence command) {
    try {
      channels(session);
      jobs(session);
      if (session.get(".reader") != null) {
        Completion.mend(session.get(".reader"));
      }
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e); // fields are made accessible
    }
  }

  private static void channels(CommandSession session) throws IllegalAccessException {
    Channel[] channels = (Channel[]) CHANNELS.get(session);
    if (channels[1] instanceof Channels.Output) {
      return;
    }
    boolean both = channels[1] == channels[2];
    InputStream in = session.getKeyboard();
    if (session.get(".terminal") != null) {
      channels[0] = Channels.input(in, (ReadableByteChannel) channels[0]);
    }
    channels[1] = new Channels.Output(session.getConsole());
    channels[2] = both ? channels[1] : new Channels.Output(errors(session));
  }

  private static OutputStream errors(CommandSession session) throws IllegalAccessException {
    return (OutputStream) field(CommandSessionImpl.class, "err").get(session);
  }

  private static void jobs(CommandSession session) throws IllegalAccessException {
    JobListener listener = (JobListener) LISTENER.get(session);
    if (!(listener instanceof Forgetting)) {
      session.setJobListener(new Forgetting(listener));
    }
  }

  /** Takes a job that is done from the list of the job that started it. */
  private record Forgetting(JobListener next) implements JobListener {
    @Override
    public void jobChanged(Job job, Job.Status previous, Job.Status current) {
      if (current == Job.Status.Done && job.parent() != null) {
        try {
          List<?> children = (List<?>) field(job.parent().getClass(), "children").get(job.parent());
          synchronized (children) {
            children.remove(job);
          }
        } catch (IllegalAccessException e) {
          throw new IllegalStateException(e); // the field is made accessible
        }
      }
      if (next != null) {
        next.jobChanged(job, previous, current);
      }
    }
  }

  private static Field field(Class<?> type, String name) {
    try {
      Field field = type.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException("another Gogo than this was written for", e);
    }
  }

  @Override
  public void afterExecute(CommandSession session, CharSequence command, Exception exception) {}

  @Override
  public void afterExecute(CommandSession session, CharSequence command, Object result) {}
}
