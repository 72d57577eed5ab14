// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import io.thalamus.shell.bundles.DeployLog;
import io.thalamus.shell.bundles.LogLines;
import io.thalamus.shell.session.Failures;
import io.thalamus.shell.session.Kept;
import io.thalamus.shell.session.Script;
import io.thalamus.shell.session.ScriptCommands;
import io.thalamus.shell.session.Session;
import io.thalamus.shell.session.TerminalShell;
import io.thalamus.shell.session.UnknownCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Reader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.service.command.CommandProcessor;
import org.osgi.framework.BundleContext;
import org.osgi.service.log.LogEntry;
import org.osgi.service.log.LogLevel;
import org.osgi.service.log.LogReaderService;

/** One request of the launcher on Gogo's runtime. Used once; {@link #stop} by any thread. */
final class Requests {
  private static final String SCOPE = "nn";

  /** The command that goes on for as long as its process. */
  private static final Set<String> SERVE = Set.of("serve", "nn:serve");

  /** Commands that do nothing to the next process. */
  private static final Set<String> PASSING =
      Set.of("nn:install", "nn:update", "nn:uninstall", "nn:load", "nn:unload");

  private static final String FRAMEWORK = "Events.Framework";

  private final CommandProcessorImpl gogo;
  private final LogReaderService log;
  private final BundleContext context;
  private final DeployLog notices;
  private final Kept kept;
  private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
  private volatile TerminalShell shell;

  Requests(
      CommandProcessor processor,
      LogReaderService log,
      BundleContext context,
      DeployLog notices,
      Kept kept) {
    this.gogo = (CommandProcessorImpl) processor;
    this.log = log;
    this.context = context;
    this.notices = notices;
    this.kept = kept;
  }

  /** Returns true if a command processor is Gogo's own, whose sessions can be extended. */
  static boolean fit(CommandProcessor processor) {
    return processor instanceof CommandProcessorImpl;
  }

  void stop() {
    TerminalShell running = shell;
    if (running != null) {
      running.stop();
    }
  }

  int run(Map<String, Object> request, PrintStream out, PrintStream err, Consumer<String> errors)
      throws IOException, InterruptedException {
    if (Boolean.TRUE.equals(request.get("shell"))) {
      Warnings.to(notices::say);
      begin(request, notices::say);
      return terminal();
    }
    Warnings.to(warnings::add);
    begin(request, errors);
    try (Session session = new Session(gogo, System.in, out, err)) {
      session.put("nn.json", request.get("json"));
      return run(session, request, errors);
    }
  }

  /** Runs what each process begins with; what fails is reported, and the rest goes on. */
  private void begin(Map<String, Object> request, Consumer<String> errors) {
    boolean withBundles = !Boolean.TRUE.equals(request.get("devices"));
    for (List<String> words : kept.commands(withBundles)) {
      PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
      try (Session session = new Session(gogo, InputStream.nullInputStream(), nowhere, nowhere)) {
        try {
          session.execute(line(session, SCOPE + ":" + words.getFirst(), words));
        } catch (Exception e) {
          errors.accept("%s (kept in %s)".formatted(Failures.line(session, e), kept.file()));
        }
      }
    }
  }

  /** Returns a line in which arguments are variables: nothing in them is Gogo's to read. */
  private static String line(Session session, String command, List<String> words) {
    StringBuilder line = new StringBuilder(command);
    for (int i = 1; i < words.size(); i++) {
      session.put("word" + i, words.get(i));
      line.append(" $word").append(i);
    }
    return line.toString();
  }

  private int terminal() throws IOException, InterruptedException {
    shell =
        new TerminalShell(
            gogo,
            Path.of(context.getProperty("thalamus.storage"), "history"),
            Path.of(context.getProperty("thalamus.home"), "bin/etc/gosh_profile"));
    return shell.run();
  }

  private int run(Session session, Map<String, Object> request, Consumer<String> errors)
      throws IOException {
    List<String> words = ((List<?>) request.get("words")).stream().map(String::valueOf).toList();
    Script script = new Script(session, errors, () -> false);
    if (Boolean.FALSE.equals(request.get("shell"))) {
      reportAtOnce(session, errors);
      Reader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
      return script(script, session, words, input, false);
    }
    boolean isCommand = request.get("text") == null && request.get("file") == null;
    if (isCommand && !words.isEmpty() && SERVE.contains(words.getFirst())) {
      // It runs until its process is asked to end, and nobody reads warnings then.
      reportAtOnce(session, errors);
      return command(script, session, words, errors);
    }
    try {
      if (request.get("text") instanceof String text) {
        return script(script, session, words, new StringReader(text), true);
      }
      if (request.get("file") instanceof Path file) {
        return script(script, session, words, open(file), true);
      }
      return command(script, session, words, errors);
    } finally {
      logged(errors);
    }
  }

  private void reportAtOnce(Session session, Consumer<String> errors) {
    Warnings.to(errors);
    report(errors);
    session.put("nn.notices", errors);
  }

  private void report(Consumer<String> errors) {
    for (String line = warnings.poll(); line != null; line = warnings.poll()) {
      errors.accept(line);
    }
  }

  /** A component that could not come up says so in the log only, where nobody would look. */
  private void logged(Consumer<String> errors) {
    report(errors);
    if (log == null) {
      return;
    }
    for (LogEntry entry : Collections.list(log.getLog()).reversed()) {
      // What the framework could not start was reported by whoever wanted it.
      if (entry.getLogLevel() == LogLevel.ERROR && !entry.getLoggerName().startsWith(FRAMEWORK)) {
        errors.accept(LogLines.line(entry));
      }
    }
  }

  /** Returns whether a command changes what ends with the process. */
  private static boolean isPassing(String command, List<String> words) {
    return command.equals("nn:config")
        ? words.stream().anyMatch(word -> word.contains("=") || word.equals("--reset"))
        : PASSING.contains(command);
  }

  private int command(Script script, Session session, List<String> words, Consumer<String> errors) {
    String name = words.getFirst();
    String qualified = name.contains(":") ? name : SCOPE + ":" + name;
    if (!UnknownCommand.commands(session).contains(qualified)) {
      var unknown = UnknownCommand.of(session, name);
      errors.accept(unknown.getMessage());
      return unknown.exitStatus();
    }
    int status = script.run(line(session, qualified, words));
    if (status == 0 && isPassing(qualified, words) && !words.contains("--help")) {
      errors.accept(
          words.contains("--keep")
              ? "kept for each process to come, in " + kept.file()
              : name
                  + " holds for this process, which ends now; the shell, -c and -f go on with it,"
                  + " --keep has each process begin with it");
    }
    return status;
  }

  private int script(
      Script script, Session session, List<String> arguments, Reader text, boolean untilFailure)
      throws IOException {
    try {
      ScriptCommands.addTo(gogo);
    } catch (NoClassDefFoundError withoutGogosShell) {
      // Another container may have Gogo's runtime alone: scripts have only what is there.
    }
    session.put("GREP_COLORS", "mt=0"); // programs may read what it prints
    session.put("args", new ArrayList<>(arguments));
    try (BufferedReader lines = new BufferedReader(text)) {
      return script.run(lines, untilFailure);
    }
  }

  private static Reader open(Path file) throws IOException {
    try {
      return Files.newBufferedReader(file);
    } catch (java.nio.file.NoSuchFileException e) {
      throw new IOException("no such file: " + file, e);
    }
  }
}
