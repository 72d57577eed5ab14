// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import io.thalamus.console.Reasons;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.felix.gogo.jline.Expander;
import org.apache.felix.gogo.jline.Highlighter;
import org.apache.felix.gogo.jline.Parser;
import org.apache.felix.gogo.jline.Shell;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.service.command.Function;
import org.apache.felix.service.command.Job;
import org.jline.builtins.Completers.Completer;
import org.jline.builtins.Completers.CompletionData;
import org.jline.builtins.Completers.CompletionEnvironment;
import org.jline.reader.EndOfFileException;
import org.jline.reader.LineReader;
import org.jline.reader.LineReaderBuilder;
import org.jline.reader.ParsedLine;
import org.jline.reader.UserInterruptException;
import org.jline.terminal.Attributes;
import org.jline.terminal.Attributes.LocalFlag;
import org.jline.terminal.Terminal;
import org.jline.terminal.Terminal.Signal;
import org.jline.terminal.Terminal.SignalHandler;
import org.jline.terminal.impl.PosixSysTerminal;
import org.jline.utils.AttributedString;
import org.jline.utils.AttributedStringBuilder;
import org.jline.utils.AttributedStyle;
import org.jline.utils.NonBlockingInputStream;

/**
 * The shell at a terminal: reads a line, runs it, and reads the next. Owns the terminal until
 * {@link #run} returns. One for a process; {@link #stop} may be called by any thread.
 *
 * <p>Ctrl-C interrupts the commands of the line and waits for them, so that their last words come
 * before the prompt; a command that does not listen to it is left behind after a while, or with the
 * next Ctrl-C. The terminal hands over single keys all the time, so that none is lost between two
 * lines.
 */
public final class TerminalShell {
  private static final Logger JLINE = Logger.getLogger("org.jline");
  private static final Duration GLANCE = Duration.ofMillis(20);

  /** So many glances are given to a command to end after Ctrl-C. */
  private static final int PATIENCE = 100;

  /** So Gogo names the threads of commands while they run. */
  private static final String COMMAND = "pipe-";

  private final CommandProcessorImpl gogo;
  private final Path history;
  private final Path profile;
  private final ThreadGroup group = new ThreadGroup("thalamus shell");
  private final AtomicInteger interrupts = new AtomicInteger();
  private Terminal terminal;
  private Session session;
  private Script script;
  private int status;
  private volatile Thread thread;
  private volatile boolean reading;
  private volatile boolean stopped;

  /**
   * A shell that reads nothing yet.
   *
   * @param history the file in which typed lines are kept
   * @param profile a file of Gogo text that is run first
   */
  public TerminalShell(CommandProcessorImpl gogo, Path history, Path profile) {
    this.gogo = gogo;
    this.history = history;
    this.profile = profile;
  }

  /** Serves the terminal until somebody asks for the end, and returns the exit status. */
  public int run() throws IOException, InterruptedException {
    FutureTask<Integer> served = new FutureTask<>(this::serve);
    // Gogo takes the threads of commands from the group of the thread that opens the session.
    thread = new Thread(group, served, "thalamus shell");
    thread.start();
    try {
      return served.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
    }
  }

  /** Ends the shell when the line that it runs has ended. */
  public void stop() {
    stopped = true;
    if (reading) {
      thread.interrupt();
    }
  }

  private int serve() throws IOException {
    // JLine would write what it cannot do with a trace into the middle of the line.
    JLINE.setLevel(Level.OFF);
    ScriptCommands.addScreenTo(gogo);
    try (Terminal here = terminal();
        Session opened = new Session(gogo, here.input(), screen(here), here.output())) {
      terminal = here;
      session = opened;
      if (terminal.input() instanceof NonBlockingInputStream typed) {
        session.input(new Channels.Input(typed));
      }
      script = new Script(session, this::complain, () -> interrupts.get() > 0);
      LineReader reader = prepared();
      Attributes attributes = terminal.getAttributes();
      attributes.setLocalFlag(LocalFlag.ICANON, false);
      terminal.setAttributes(attributes);
      terminal.handle(Signal.INT, _ -> interrupt());
      terminal.handle(Signal.TSTP, _ -> suspend());
      while (!stopped && !script.isEnded()) {
        String line = read(reader);
        if (line == null) {
          break;
        }
        execute(() -> status = script.run(line));
      }
      save(reader);
      return script.isEnded() ? status : 0;
    }
  }

  private static Terminal terminal() throws IOException {
    return new PosixSysTerminal(
        "thalamus",
        System.getenv().getOrDefault("TERM", Terminal.TYPE_DUMB),
        new Stty("/dev/tty"),
        StandardCharsets.UTF_8,
        true,
        SignalHandler.SIG_IGN);
  }

  private static PrintStream screen(Terminal terminal) {
    return new PrintStream(terminal.output(), true, StandardCharsets.UTF_8);
  }

  private LineReader prepared() throws IOException {
    session.put(Shell.VAR_TERMINAL, terminal);
    session.put(Shell.VAR_SESSION, session);
    session.put(Shell.VAR_PROCESSOR, gogo);
    session.put("#TERM", (Function) (_, _) -> terminal.getType());
    session.put("#COLUMNS", (Function) (_, _) -> terminal.getWidth());
    session.put("#LINES", (Function) (_, _) -> terminal.getHeight());
    session.put("#PWD", (Function) (s, _) -> s.currentDir().toString());
    session.put(LineReader.HISTORY_FILE, history);
    LineReader reader =
        LineReaderBuilder.builder()
            .terminal(terminal)
            .variables(session.getVariables())
            .completer(new Completer(new Commands(session)))
            .highlighter(new Colours(session))
            .parser(new Completion(new Parser()))
            .expander(new Expander(session))
            .option(LineReader.Option.AUTO_FRESH_LINE, true)
            // Another Tab lists the candidates again; a choice among them is left to who types.
            .option(LineReader.Option.AUTO_MENU, false)
            .variable(LineReader.ERRORS, 0)
            .build();
    session.put(Shell.VAR_READER, reader);
    session.put(Shell.VAR_COMPLETIONS, new HashMap<String, List<CompletionData>>());
    Consumer<String> above = line -> reader.printAbove("thalamus: " + line);
    session.put("nn.notices", above);
    session.watch(
        (job, before, now) -> {
          if (Set.of(Job.Status.Background, Job.Status.Suspended).contains(now)
              || before == Job.Status.Background) {
            reader.printAbove(
                "[" + job.id() + "] " + now.name().toLowerCase() + "  " + job.command());
          }
        });
    if (Files.exists(profile)) {
      String text = Files.readString(profile);
      execute(() -> prepare(text));
    }
    return reader;
  }

  /** Runs the profile, whose values nobody wants to see. */
  private void prepare(String text) {
    try {
      session.execute(text);
    } catch (Exception e) {
      complain(profile + ": " + Failures.line(session, e));
    }
  }

  /** Returns the next line, an empty one after Ctrl-C, and nothing at the end. */
  private String read(LineReader reader) {
    reading = true;
    try {
      reader.readLine(Shell.getPrompt(session), null, (Character) null, null);
      // Ctrl-C that came with the last key is meant for the line, which the buffer has as typed.
      return Thread.interrupted() ? "" : reader.getBuffer().toString();
    } catch (UserInterruptException e) {
      return "";
    } catch (EndOfFileException e) {
      return null;
    } finally {
      reading = false;
    }
  }

  /** Runs work on a thread of its own, and waits for its commands, also after Ctrl-C. */
  private void execute(Runnable work) {
    interrupts.set(0);
    Set<Thread> before = commands();
    Set<Thread> told = new HashSet<>(before);
    int patience = PATIENCE;
    Thread worker = new Thread(group, work, "thalamus line");
    worker.start();
    while (isAlive(worker) || session.foregroundJob() != null || isEnding(before, patience)) {
      if (interrupts.get() > 0) {
        session.errors().hold();
        commands().stream().filter(told::add).forEach(Thread::interrupt);
        patience--;
        Job job = session.foregroundJob();
        if (job != null && (patience < 0 || interrupts.get() > 1)) {
          job.interrupt();
        }
      }
    }
    release();
    for (Thread left : commands()) {
      if (interrupts.get() > 0 && !before.contains(left)) {
        complain(left.getName().substring(COMMAND.length()) + " goes on in spite of Ctrl-C");
      }
    }
  }

  /**
   * Returns true while a command has still to end after Ctrl-C. A job is over as soon as one of its
   * commands has failed, and the thread of another one may still be about to.
   */
  private boolean isEnding(Set<Thread> before, int patience) {
    if (interrupts.get() != 1 || patience < 0 || before.containsAll(commands())) {
      return false;
    }
    LockSupport.parkNanos(GLANCE.toNanos());
    return true;
  }

  private static boolean isAlive(Thread worker) {
    try {
      return !worker.join(GLANCE);
    } catch (InterruptedException e) {
      // Whoever stops the shell waits for the line, as it waits for its commands.
      return worker.isAlive();
    }
  }

  /** Returns the threads that run commands now. */
  private Set<Thread> commands() {
    Thread[] threads = new Thread[2 * group.activeCount() + 16];
    int count = group.enumerate(threads);
    return Stream.of(threads)
        .limit(count)
        .filter(thread -> thread.getName().startsWith(COMMAND))
        .collect(Collectors.toSet());
  }

  private void interrupt() {
    if (interrupts.getAndIncrement() == 0) {
      // Behind the ^C of the terminal, or the prompt would mark that as a line without an end.
      terminal.writer().println();
      terminal.flush();
    }
  }

  private void suspend() {
    Job job = session.foregroundJob();
    if (job != null) {
      job.suspend();
    }
  }

  private void release() {
    try {
      session.errors().release();
    } catch (IOException e) {
      stopped = true; // the terminal has gone
    }
  }

  private void complain(String line) {
    AttributedStringBuilder text = new AttributedStringBuilder();
    text.styled(style -> style.foreground(AttributedStyle.RED), line);
    terminal.writer().println(text.toAnsi(terminal));
    terminal.flush();
  }

  private void save(LineReader reader) {
    try {
      reader.getHistory().save();
    } catch (IOException e) {
      complain("the history cannot be stored in " + history + ": " + Reasons.of(e));
    }
  }

  /** Gogo's colours, without the quotes and brackets that it adds to what is still being typed. */
  private static final class Colours extends Highlighter {
    Colours(Session session) {
      super(session);
    }

    @Override
    public AttributedString highlight(LineReader reader, String typed) {
      AttributedString shown = super.highlight(reader, typed);
      return shown.subSequence(0, Math.min(shown.length(), typed.length()));
    }
  }

  /** The view of a session that completion needs. */
  private record Commands(Session session) implements CompletionEnvironment {
    @Override
    public Map<String, List<CompletionData>> getCompletions() {
      return Shell.getCompletions(session);
    }

    @Override
    public Set<String> getCommands() {
      return Shell.getCommands(session);
    }

    @Override
    public String resolveCommand(String command) {
      return Shell.resolve(session, command);
    }

    @Override
    public String commandName(String command) {
      return command.substring(command.indexOf(':') + 1);
    }

    @Override
    public Object evaluate(LineReader reader, ParsedLine line, String function) throws Exception {
      session.put(Shell.VAR_COMMAND_LINE, line);
      return session.execute(function);
    }
  }
}
