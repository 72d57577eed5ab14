// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import io.thalamus.console.Reasons;
import io.thalamus.shell.bundles.DeployLog;
import io.thalamus.shell.session.Failures;
import io.thalamus.shell.session.Script;
import io.thalamus.shell.session.ScriptCommands;
import io.thalamus.shell.session.Session;
import io.thalamus.shell.session.TerminalShell;
import io.thalamus.shell.session.UnknownCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
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
import java.util.function.ToIntFunction;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.service.command.CommandProcessor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.log.LogEntry;
import org.osgi.service.log.LogLevel;
import org.osgi.service.log.LogReaderService;

/**
 * Runs one request of the launcher in a Gogo session of its own and returns the exit status.
 * Thread-safe: nothing is kept between requests.
 *
 * <p>A request is a map of JDK values: {@code words} (a command of scope {@code nn} and its
 * arguments, or the arguments of a script), {@code text} (Gogo text), {@code file} (a {@link Path}
 * to a script) or {@code shell} (true for what is typed into the terminal, false for what standard
 * input has), {@code json}, which commands see as the session variable {@code nn.json}, and
 * optionally {@code out} and {@code err} in place of the process's own streams.
 *
 * <p>The status is 0 where all went well; where a command throws, one line goes to standard error
 * and the status is what {@link Failures} says. Text and files end there; standard input goes on,
 * since somebody may be typing, and the first failure is the status.
 */
@Component(service = ToIntFunction.class, property = "thalamus.batch=true")
public final class BatchRunner implements ToIntFunction<Map<String, Object>> {
  private static final int FAILED = 1;
  private static final String SCOPE = "nn";

  /** Commands that do nothing to the next process. */
  private static final Set<String> PASSING =
      Set.of("nn:install", "nn:update", "nn:uninstall", "nn:load", "nn:unload");

  private static final String FRAMEWORK = "Events.Framework";

  private final CommandProcessor processor;
  private final LogReaderService log;
  private final BundleContext context;
  private final DeployLog notices;
  private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
  private volatile TerminalShell shell;

  /**
   * Called by the component runtime.
   *
   * @param processor Gogo
   * @param log what went wrong while the container came up
   * @param context tells where the shell keeps its files
   * @param notices shows warnings above the shell's prompt
   */
  @Activate
  public BatchRunner(
      @Reference CommandProcessor processor,
      @Reference LogReaderService log,
      BundleContext context,
      @Reference DeployLog notices) {
    this.notices = notices;
    this.processor = processor;
    this.log = log;
    this.context = context;
  }

  /** Ends the shell with the bundles that its commands come from. */
  @Deactivate
  public void stop() {
    if (shell != null) {
      shell.stop();
    }
  }

  @Override
  public int applyAsInt(Map<String, Object> request) {
    PrintStream out = request.get("out") instanceof PrintStream given ? given : System.out;
    PrintStream err = request.get("err") instanceof PrintStream given ? given : System.err;
    Consumer<String> errors =
        line -> {
          out.flush();
          err.println("thalamus: " + line);
        };
    if (!(processor instanceof CommandProcessorImpl gogo)) {
      errors.accept("the shell needs Felix Gogo, and here is " + processor.getClass().getName());
      return FAILED;
    }
    try {
      if (Boolean.TRUE.equals(request.get("shell"))) {
        Warnings.to(notices::say);
        return terminal(gogo);
      }
      Warnings.to(warnings::add);
      try (Session session = new Session(gogo, System.in, out, err)) {
        session.put("nn.json", request.get("json"));
        return run(session, gogo, request, errors);
      }
    } catch (IOException e) {
      errors.accept(Reasons.of(e));
      return FAILED;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return FAILED;
    }
  }

  private int terminal(CommandProcessorImpl gogo) throws IOException, InterruptedException {
    shell =
        new TerminalShell(
            gogo,
            Path.of(context.getProperty("thalamus.storage"), "history"),
            Path.of(context.getProperty("thalamus.home"), "bin/etc/gosh_profile"));
    return shell.run();
  }

  private int run(
      Session session,
      CommandProcessorImpl gogo,
      Map<String, Object> request,
      Consumer<String> errors)
      throws IOException {
    List<String> words = ((List<?>) request.get("words")).stream().map(String::valueOf).toList();
    Script script = new Script(session, errors, () -> false);
    if (Boolean.FALSE.equals(request.get("shell"))) {
      Warnings.to(errors);
      session.put("nn.notices", errors);
      Reader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
      return script(script, gogo, session, words, input, false);
    }
    try {
      if (request.get("text") instanceof String text) {
        return script(script, gogo, session, words, new StringReader(text), true);
      }
      if (request.get("file") instanceof Path file) {
        return script(script, gogo, session, words, open(file), true);
      }
      return command(script, session, words, errors);
    } finally {
      logged(errors);
    }
  }

  /** A component that could not come up says so in the log only, where nobody would look. */
  private void logged(Consumer<String> errors) {
    for (String line = warnings.poll(); line != null; line = warnings.poll()) {
      errors.accept(line);
    }
    for (LogEntry entry : Collections.list(log.getLog()).reversed()) {
      // What the framework could not start was told by whoever wanted it.
      if (entry.getLogLevel() == LogLevel.ERROR && !entry.getLoggerName().startsWith(FRAMEWORK)) {
        Throwable cause = entry.getException();
        String because = cause == null ? "" : ": " + cause;
        String text = (entry.getMessage() + because).lines().findFirst().orElse("");
        errors.accept(entry.getBundle().getSymbolicName() + ": " + text);
      }
    }
  }

  /** Arguments travel as variables: nothing in them is Gogo's to read. */
  private static int command(
      Script script, Session session, List<String> words, Consumer<String> errors) {
    String name = words.getFirst();
    String qualified = name.contains(":") ? name : SCOPE + ":" + name;
    if (!UnknownCommand.commands(session).contains(qualified)) {
      var unknown = UnknownCommand.of(session, name);
      errors.accept(unknown.getMessage());
      return unknown.exitStatus();
    }
    StringBuilder line = new StringBuilder(qualified);
    for (int i = 1; i < words.size(); i++) {
      session.put("word" + i, words.get(i));
      line.append(" $word").append(i);
    }
    int status = script.run(line);
    if (status == 0 && PASSING.contains(qualified) && !words.contains("--help")) {
      errors.accept(
          name + " holds for this process, which ends now; the shell, -c and -f go on with it");
    }
    return status;
  }

  private static int script(
      Script script,
      CommandProcessorImpl gogo,
      Session session,
      List<String> arguments,
      Reader text,
      boolean untilFailure)
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
