// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import io.thalamus.console.Reasons;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import org.apache.felix.gogo.runtime.CommandNotFoundException;
import org.apache.felix.gogo.runtime.EOFError;
import org.apache.felix.gogo.runtime.SyntaxError;
import org.apache.felix.service.command.CommandSession;

/**
 * The words and the exit status for what a command throws: 2 for wrong usage, which is an unknown
 * command, arguments that fit none of its forms, or what is no Gogo text; 1 for anything else.
 * Stateless.
 */
public final class Failures {
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  private Failures() {}

  /** Returns one line that says what went wrong. */
  public static String line(CommandSession session, Throwable e) {
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

  private static String firstLine(Throwable e) {
    if (e instanceof InvocationTargetException && e.getCause() != null) {
      // An error, which Gogo does not unwrap.
      return e.getCause() instanceof OutOfMemoryError exhausted
          ? "out of memory: %s; THALAMUS_JAVA_OPTIONS=-Xmx4g, for example, allows 4 GiB"
              .formatted(exhausted.getMessage())
          : String.valueOf(e.getCause());
    }
    if (e instanceof FileSystemException file && file.getReason() == null) {
      String reason =
          file instanceof NoSuchFileException
              ? "there is no such file or folder"
              : Reasons.of(file);
      return "cannot open %s: %s".formatted(file.getFile(), reason);
    }
    String message = e.getMessage();
    return message == null || message.isBlank()
        ? e.getClass().getSimpleName()
        : message.strip().lines().findFirst().orElseThrow();
  }

  /**
   * Returns what the exception's public method {@code int exitStatus()} says, or what its kind
   * means.
   */
  public static int status(Throwable e) {
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
  private static boolean isMisfit(Throwable e) {
    return e instanceof IllegalArgumentException
        && e.getMessage() != null
        && e.getMessage().startsWith("Cannot coerce ");
  }
}
