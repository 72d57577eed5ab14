// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;

/**
 * The base of a component with one or several Gogo commands. Thread-safe.
 *
 * <p>A subclass is a service of this type with the properties {@code osgi.command.scope} and {@code
 * osgi.command.function}, and has for each function a public method of that name, which Gogo calls
 * and lists by its {@code @Descriptor}; for one with a dash, {@link #function} says the method's
 * name, and the component is a {@link org.apache.felix.service.command.Function} that calls it:
 *
 * <pre>{@code
 * @Descriptor("what a model is")
 * public Result info(CommandSession session, @Descriptor("MODEL " + OPTIONS) String[] words) {
 *   return run(SYNTAX, session, words, this::info);
 * }
 * }</pre>
 */
public abstract class Command {
  /** The end of the {@code @Descriptor} of a command's words, behind its operands. */
  public static final String OPTIONS = "[OPTION...]; --help says more";

  private final List<Syntax> syntaxes;

  /** A component with these commands. */
  protected Command(Syntax... syntaxes) {
    this.syntaxes = List.of(syntaxes);
  }

  /** The work of a command. */
  @FunctionalInterface
  protected interface Action {
    /**
     * Does the work.
     *
     * @throws Exception whose message is one line, for {@link CommandException}
     */
    Result run(Invocation invocation) throws Exception;
  }

  /** Returns the commands of this component. */
  public final List<Syntax> syntaxes() {
    return syntaxes;
  }

  /** Returns the {@code @Descriptor} of a command of this component. */
  public final String description(Syntax syntax) {
    String function = syntax.command().substring(syntax.command().indexOf(':') + 1);
    return Arrays.stream(getClass().getMethods())
        .filter(method -> function(method).equals(function))
        .map(method -> method.getAnnotation(Descriptor.class))
        .filter(Objects::nonNull)
        .map(Descriptor::value)
        .findFirst()
        .orElseThrow();
  }

  /** Returns the function of a method: its name, with a dash where that has a capital. */
  public static String function(Method method) {
    return method.getName().replaceAll("(?=[A-Z])", "-").toLowerCase(Locale.ROOT);
  }

  /**
   * Runs a command, or explains it where {@code --help} is among the words.
   *
   * @throws CommandException where the words do not fit the syntax; where the action throws one, is
   *     interrupted, or throws another checked exception, whose message is taken
   */
  protected static Result run(
      Syntax syntax, CommandSession session, String[] words, Action action) {
    Invocation invocation = Invocation.of(syntax, session, syntax.parse(words));
    if (invocation.arguments().has("help")) {
      return new Help(syntax, invocation.style());
    }
    try {
      return action.run(invocation);
    } catch (RuntimeException e) {
      throw e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted", e);
    } catch (Exception e) {
      throw new CommandException(e.getMessage(), e);
    }
  }
}
