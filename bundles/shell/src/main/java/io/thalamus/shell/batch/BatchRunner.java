// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.apache.felix.gogo.runtime.CommandNotFoundException;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.gogo.runtime.EOFError;
import org.apache.felix.gogo.runtime.Parser;
import org.apache.felix.gogo.runtime.SyntaxError;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.log.LogEntry;
import org.osgi.service.log.LogLevel;
import org.osgi.service.log.LogReaderService;

/**
 * Runs one request of the launcher in a Gogo session of its own and returns the exit status.
 * Thread-safe: nothing is kept between requests.
 *
 * <p>A request is a map of JDK values: {@code words} (a command of scope {@code nn} and its
 * arguments, or the arguments of a script), {@code text} (Gogo text) or {@code file} (a {@link
 * Path} to a script), {@code json}, which commands see as the session variable {@code nn.json}, and
 * optionally {@code out} and {@code err} in place of the process's own streams.
 *
 * <p>The status is 0 where all went well; where a command throws, one line goes to standard error
 * and the status is what the exception's public method {@code int exitStatus()} says, 2 for an
 * unknown command or arguments that fit none of its forms, 1 for anything else.
 */
@Component(service = ToIntFunction.class, property = "thalamus.batch=true")
public final class BatchRunner implements ToIntFunction<Map<String, Object>> {
  private static final int FAILED = 1;
  private static final int USAGE = 2;
  private static final String SCOPE = "nn";
  private static final String FRAMEWORK = "Events.Framework";

  private final CommandProcessor processor;
  private final LogReaderService log;

  /**
   * Called by the component runtime.
   *
   * @param processor Gogo
   * @param log what went wrong while the container came up
   */
  @Activate
  public BatchRunner(@Reference CommandProcessor processor, @Reference LogReaderService log) {
    this.processor = processor;
    this.log = log;
  }

  @Override
  public int applyAsInt(Map<String, Object> request) {
    List<String> words = ((List<?>) request.get("words")).stream().map(String::valueOf).toList();
    PrintStream out = request.get("out") instanceof PrintStream given ? given : System.out;
    PrintStream err = request.get("err") instanceof PrintStream given ? given : System.err;
    try (CommandSession session = processor.createSession(System.in, out, err)) {
      session.put("SCOPE", SCOPE + ":*");
      session.put("nn.json", request.get("json"));
      try {
        if (request.get("text") instanceof String text) {
          script(session, text, words);
        } else if (request.get("file") instanceof Path file) {
          script(session, read(file), words);
        } else {
          command(session, words);
        }
        return 0;
      } catch (Exception e) {
        out.flush();
        err.println("thalamus: " + message(session, e));
        return status(e);
      } finally {
        logged(err);
      }
    }
  }

  /** A component that could not come up says so in the log only, where nobody would look. */
  private void logged(PrintStream err) {
    for (LogEntry entry : Collections.list(log.getLog()).reversed()) {
      // What the framework could not start was told by whoever wanted it.
      if (entry.getLogLevel() == LogLevel.ERROR && !entry.getLoggerName().startsWith(FRAMEWORK)) {
        Throwable cause = entry.getException();
        String because = cause == null ? "" : ": " + cause;
        String text = (entry.getMessage() + because).lines().findFirst().orElse("");
        err.println("thalamus: " + entry.getBundle().getSymbolicName() + ": " + text);
      }
    }
  }

  /** Arguments travel as variables: nothing in them is Gogo's to read. */
  private static void command(CommandSession session, List<String> words) throws Exception {
    String name = words.getFirst();
    String qualified = name.contains(":") ? name : SCOPE + ":" + name;
    if (!UnknownCommand.commands(session).contains(qualified)) {
      throw UnknownCommand.of(session, name);
    }
    StringBuilder line = new StringBuilder(qualified);
    for (int i = 1; i < words.size(); i++) {
      session.put("word" + i, words.get(i));
      line.append(" $word").append(i);
    }
    print(session, session.execute(line));
  }

  /** Prints every statement's result, where Gogo would only return the last one's. */
  private void script(CommandSession session, String text, List<String> arguments)
      throws Exception {
    if (processor instanceof CommandProcessorImpl gogo) {
      try {
        ScriptCommands.addTo(gogo);
      } catch (NoClassDefFoundError withoutGogosShell) {
        // Another container may have Gogo's runtime alone: scripts have only what is there.
        session.put("gogo.commands", false);
      }
    }
    session.put("SCOPE", SCOPE + ":gogo:*");
    session.put("GREP_COLORS", "mt=0"); // programs may read what it prints
    session.put("args", new ArrayList<>(arguments));
    StringBuilder statement = new StringBuilder();
    for (Parser.Executable part : new Parser(text).program().tokens()) {
      String piece = part.toString();
      boolean ends = part instanceof Parser.Operator && (piece.equals(";") || piece.equals("\n"));
      if (ends) {
        execute(session, statement);
      } else {
        statement.append(piece).append(' ');
      }
    }
    execute(session, statement);
  }

  private static void execute(CommandSession session, StringBuilder statement) throws Exception {
    if (!statement.isEmpty()) {
      String text = statement.toString();
      statement.setLength(0);
      print(session, session.execute(text));
    }
  }

  private static void print(CommandSession session, Object result) throws Exception {
    if (result != null) {
      session.getConsole().println(session.format(result, Converter.INSPECT));
    }
    session.getConsole().flush();
  }

  private static String read(Path file) throws IOException {
    try {
      return Files.readString(file);
    } catch (java.nio.file.NoSuchFileException e) {
      throw new IOException("no such file: " + file, e);
    }
  }

  private static String message(CommandSession session, Exception e) {
    if (e instanceof CommandNotFoundException notFound) {
      return UnknownCommand.of(session, notFound.getCommand()).getMessage();
    }
    if (e instanceof SyntaxError || e instanceof java.io.EOFException) {
      return "not a Gogo command: " + firstLine(e);
    }
    if (isMisfit(e)) {
      return firstLine(e).replaceFirst("^Cannot coerce ", "these arguments do not fit: ");
    }
    return firstLine(e);
  }

  private static String firstLine(Exception e) {
    if (e instanceof InvocationTargetException && e.getCause() != null) {
      return String.valueOf(e.getCause()); // an error, which Gogo does not unwrap
    }
    String message = e.getMessage();
    return message == null || message.isBlank()
        ? e.getClass().getSimpleName()
        : message.strip().lines().findFirst().orElseThrow();
  }

  private static int status(Exception e) {
    if (e instanceof CommandNotFoundException
        || e instanceof NoSuchMethodException
        || e instanceof SyntaxError
        || e instanceof EOFError
        || isMisfit(e)) {
      return USAGE;
    }
    try {
      var method = e.getClass().getMethod("exitStatus");
      method.setAccessible(true); // the class itself may be its bundle's own affair
      return method.invoke(e) instanceof Integer status ? status : FAILED;
    } catch (ReflectiveOperationException noStatusOfItsOwn) {
      return FAILED;
    }
  }

  /** Gogo's answer where no form of a command takes the arguments. */
  private static boolean isMisfit(Exception e) {
    return e instanceof IllegalArgumentException
        && e.getMessage() != null
        && e.getMessage().startsWith("Cannot coerce ");
  }
}
