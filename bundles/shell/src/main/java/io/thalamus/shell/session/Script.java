// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.felix.gogo.runtime.Closure;
import org.apache.felix.gogo.runtime.EOFError;
import org.apache.felix.gogo.runtime.Expander;
import org.apache.felix.gogo.runtime.Parser;
import org.apache.felix.gogo.runtime.SyntaxError;
import org.apache.felix.gogo.runtime.Token;
import org.apache.felix.service.command.Converter;

/**
 * The one way in which lines are run, whether typed, given with {@code -c} and {@code -f} or on
 * standard input. Used by one thread at a time.
 *
 * <p>Each statement's result is printed, or written to the file that its output goes to. The status
 * of a statement is 0, or what its exception or its command says; that of a pipe is that of the
 * first stage that throws. A statement that throws ends the text unless {@code ||} follows.
 */
public final class Script {
  /**
   * A statement of so many characters that goes on is looked at again only when it has grown by an
   * eighth: each look reads all of it.
   */
  private static final int LONG = 4_096;

  private static final int GROWTH = 8;

  private final Session session;
  private final Consumer<String> errors;
  private final BooleanSupplier interrupted;
  private boolean failed;
  private boolean ended;
  private int status;
  private int worst;

  /**
   * A way to run text.
   *
   * @param errors gets one line for each statement that throws
   * @param interrupted whether the rest of a text is to be left
   */
  public Script(Session session, Consumer<String> errors, BooleanSupplier interrupted) {
    this.session = session;
    this.errors = errors;
    this.interrupted = interrupted;
  }

  /**
   * Runs what a reader has, as soon as a statement is whole.
   *
   * @param untilFailure whether a statement that throws is the last one
   * @return the status of the last statement, or the first that was not 0 where all are run
   */
  public int run(BufferedReader lines, boolean untilFailure) throws IOException {
    int result = 0;
    StringBuilder text = new StringBuilder();
    int next = 0;
    // Whoever has asked for the end may keep the input open: no line is read behind that.
    while (!ended) {
      String line = lines.readLine();
      if (line == null) {
        break;
      }
      text.append(line);
      String join = text.length() < next ? "\n" : join(text);
      if (join == null) {
        // A copy, since functions keep what they were read from.
        statements(text.toString());
        result = ended || untilFailure || result == 0 ? status : result;
        text.setLength(0);
        next = 0;
        if (failed && untilFailure) {
          return result;
        }
      } else {
        text.append(join);
        if (text.length() >= Math.max(LONG, next)) {
          next = text.length() + text.length() / GROWTH;
        }
      }
    }
    if (!text.isEmpty()) {
      statements(text.toString());
      result = untilFailure || result == 0 ? status : result;
    }
    return result;
  }

  /** Runs a text up to the first statement that throws, and returns its status. */
  public int run(CharSequence text) {
    try {
      return run(new BufferedReader(new StringReader(text.toString())), true);
    } catch (IOException e) {
      throw new IllegalStateException(e); // a string can be read
    }
  }

  private void statements(CharSequence text) {
    failed = false;
    status = 0;
    try {
      List<Parser.Executable> parts = new Parser(text).program().tokens();
      if (!parts.isEmpty() && isJoint(parts.getLast())) {
        throw new SyntaxError(0, 0, "a statement is missing behind " + parts.getLast());
      }
      run(parts);
    } catch (SyntaxError e) {
      fail(e);
    } catch (ExitRequest e) {
      ended = true;
      status = e.statusOr(worst == 0 ? status : worst);
      if (e.isWrong()) {
        errors.accept(e.getMessage());
      }
    }
    worst = worst == 0 ? status : worst;
  }

  /** Returns true if a statement asked for the end. */
  public boolean isEnded() {
    return ended;
  }

  /** Returns what comes before the next line of a text that goes on there, and null for others. */
  private static String join(CharSequence text) {
    try {
      List<Parser.Executable> parts = new Parser(text).program().tokens();
      return parts.isEmpty() || !isJoint(parts.getLast()) ? null : " ";
    } catch (EOFError goesOn) {
      return goesOn.missing().endsWith("pipe") ? " " : "\n";
    } catch (SyntaxError broken) {
      return null;
    }
  }

  private static boolean isJoint(Parser.Executable part) {
    return part instanceof Parser.Operator && (Token.eq("&&", part) || Token.eq("||", part));
  }

  private void run(List<Parser.Executable> parts) {
    boolean skipped = false;
    for (int i = 0; i < parts.size() && !interrupted.getAsBoolean(); i += 2) {
      Parser.Executable joint = i + 1 < parts.size() ? parts.get(i + 1) : null;
      if (!skipped) {
        failed = false;
        statement(parts.get(i), joint);
      }
      if (joint != null && isJoint(joint)) {
        skipped = Token.eq("&&", joint) == (status != 0);
      } else if (failed) {
        return;
      } else {
        skipped = false;
      }
    }
  }

  private void statement(Parser.Executable statement, Parser.Executable joint) {
    boolean background = joint != null && Token.eq("&", joint);
    List<Parser.Executable> parts = background ? List.of(statement, joint) : List.of(statement);
    session.takeError();
    session.put(Closure.PIPE_EXCEPTION, null);
    try {
      Object result = session.execute(new Parser.Program(statement, parts));
      show(statement, result);
      status = session.takeError();
      if (session.get(Closure.PIPE_EXCEPTION) instanceof Exception stages) {
        status = Failures.status(stages.getSuppressed()[0]);
      }
    } catch (ExitRequest e) {
      throw e;
    } catch (Exception e) {
      session.put("exception", e);
      fail(e);
    }
  }

  private void fail(Exception e) {
    failed = true;
    status = Failures.status(e);
    session.getConsole().flush();
    if (!interrupted.getAsBoolean()) {
      errors.accept(Failures.line(session, e));
    }
  }

  /** Gogo leaves the result of a pipe's last stage to the caller, wherever its output goes. */
  private void show(Parser.Executable statement, Object result) throws Exception {
    session.put("_", result);
    if (result == null) {
      session.getConsole().flush();
      return;
    }
    CharSequence text = session.format(result, Converter.INSPECT);
    Parser.Executable last =
        statement instanceof Parser.Pipeline pipe ? pipe.tokens().getLast() : statement;
    boolean elsewhere = false;
    if (last instanceof Parser.Statement command) {
      List<Token> words = command.redirections();
      for (int i = 0; i + 1 < words.size(); i++) {
        if (words.get(i).toString().matches("[1&]?>>?")) {
          elsewhere = true;
          append(words.get(i + 1), text);
        }
      }
    }
    if (!elsewhere) {
      session.getConsole().println(text);
    }
    session.getConsole().flush();
  }

  private void append(Token word, CharSequence text) throws Exception {
    Closure here = new Closure(session, null, "");
    here.execute(session, null);
    Object files = Expander.expand(word, here);
    for (Object file : files instanceof Collection<?> several ? several : List.of(files)) {
      Path path = session.currentDir().resolve(file.toString());
      Files.writeString(path, text + "\n", StandardOpenOption.APPEND);
    }
  }
}
