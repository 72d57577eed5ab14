// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.CommandSessionListener;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.log.LogEntry;
import org.osgi.service.log.LogLevel;
import org.osgi.service.log.LogListener;
import org.osgi.service.log.LogReaderService;

/**
 * Shows above the prompt of the interactive shell what goes wrong while nobody waits for it: errors
 * of the log, and what keeps a file of the {@code deploy} folder from being installed. Says nothing
 * where there is no prompt. Thread-safe; holds the session of the shell until that ends or this is
 * deactivated.
 */
@Component(
    service = {DeployLog.class, CommandSessionListener.class},
    immediate = true)
public final class DeployLog implements CommandSessionListener, LogListener {
  /** The session variable with a consumer of lines, which the interactive shell sets. */
  private static final String NOTICES = "nn.notices";

  private static final String FILE_INSTALL = "org.apache.felix.fileinstall";
  private static final int MOST_WAITING = 20;

  private final LogReaderService log;
  private final Object lock = new Object();
  private final Deque<String> waiting = new ArrayDeque<>();
  private CommandSession shell;
  private String last = "";

  /**
   * Called by the component runtime.
   *
   * @param log what to listen to, or null where there is no log
   */
  @Activate
  public DeployLog(
      @Reference(
              cardinality = ReferenceCardinality.OPTIONAL,
              policyOption = ReferencePolicyOption.GREEDY)
          LogReaderService log) {
    this.log = log;
    if (log != null) {
      log.addLogListener(this);
    }
  }

  /** Lets go of session and log. */
  @Deactivate
  public void close() {
    if (log != null) {
      log.removeLogListener(this);
    }
    synchronized (lock) {
      shell = null;
    }
  }

  /** Shows a line, now or as soon as there is a prompt. */
  public void say(String line) {
    synchronized (lock) {
      if (waiting.size() < MOST_WAITING) {
        waiting.add(line);
      }
      show();
    }
  }

  @SuppressWarnings("unchecked") // of lines, as the shell sets it
  private void show() {
    while (shell != null && !waiting.isEmpty()) {
      String line = waiting.remove();
      if (shell.get(NOTICES) instanceof Consumer<?> notices) {
        ((Consumer<String>) notices).accept(line);
      }
    }
  }

  @Override
  public void beforeExecute(CommandSession session, CharSequence command) {
    synchronized (lock) {
      if (shell == null && session.get(NOTICES) != null) {
        shell = session;
        show();
      }
    }
  }

  @Override
  public void afterExecute(CommandSession session, CharSequence command, Exception exception) {
    // Only the beginning tells of a new session.
  }

  @Override
  public void afterExecute(CommandSession session, CharSequence command, Object result) {
    // Only the beginning tells of a new session.
  }

  @Override
  public void logged(LogEntry entry) {
    boolean deployed = FILE_INSTALL.equals(entry.getBundle().getSymbolicName());
    LogLevel level = entry.getLogLevel();
    // What the framework could not start was reported by whoever wanted it.
    boolean told = entry.getLoggerName().startsWith("Events.Framework");
    if (level == LogLevel.ERROR && !told || deployed && level == LogLevel.WARN) {
      String line = LogLines.line(entry);
      synchronized (lock) {
        // File Install tries again and again.
        if (!line.equals(last)) {
          last = line;
          say(line);
        }
      }
    }
  }
}
