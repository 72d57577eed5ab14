// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Candidates;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.results.HelpResult;
import io.thalamus.shell.session.UnknownCommand;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.apache.felix.service.command.Function;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** {@code nn:help}: the commands, those of Thalamus with what they do. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=help"})
public final class HelpCommand extends Command {
  private static final String SCOPE = "nn:";

  private static final Syntax SYNTAX =
      Syntax.of("nn:help", "[COMMAND]", "The commands, or what one of them takes.")
          .offering(Candidates.of(Candidates.Kind.COMMANDS));

  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public HelpCommand(BundleContext context) {
    super(SYNTAX);
    this.context = context;
  }

  @Descriptor("the commands, or what one of them takes")
  public Result help(CommandSession session, @Descriptor("[COMMAND] " + OPTIONS) String[] words) {
    return run(
        SYNTAX,
        session,
        words,
        invocation ->
            invocation.arguments().operands().isEmpty()
                ? all(session, invocation)
                : one(session, invocation));
  }

  private Result all(CommandSession session, Invocation invocation) throws InvalidSyntaxException {
    Map<String, String> described = new TreeMap<>();
    for (Command command : commands(context)) {
      for (Syntax syntax : command.syntaxes()) {
        described.put(syntax.command().substring(SCOPE.length()), command.description(syntax));
      }
    }
    Map<String, Set<String>> others = new TreeMap<>();
    for (String name : UnknownCommand.commands(session)) {
      int colon = name.indexOf(':');
      if (!name.startsWith(SCOPE) && !name.startsWith("_") && !name.contains(":_")) {
        others
            .computeIfAbsent(name.substring(0, colon), _ -> new TreeSet<>())
            .add(name.substring(colon + 1));
      }
    }
    return new HelpResult(described, others, invocation.style());
  }

  /** Answers as the command's own --help does, and Felix's help for a command of others. */
  private Result one(CommandSession session, Invocation invocation) throws Exception {
    String wanted = invocation.operand();
    for (Command command : commands(context)) {
      for (Syntax syntax : command.syntaxes()) {
        if (wanted.equals(syntax.command()) || (SCOPE + wanted).equals(syntax.command())) {
          return HelpResult.of(syntax, invocation.style());
        }
      }
    }
    boolean known =
        UnknownCommand.commands(session).stream()
            .anyMatch(name -> name.equals(wanted) || name.endsWith(":" + wanted));
    if (known && session.get("felix:help") instanceof Function help) {
      help.execute(session, List.of(wanted));
      return null;
    }
    throw UnknownCommand.of(session, wanted);
  }

  /** Returns the commands that have a syntax. */
  static List<Command> commands(BundleContext context) throws InvalidSyntaxException {
    return context.getServiceReferences(Command.class, null).stream()
        .map(context::getService)
        .filter(Objects::nonNull)
        .toList();
  }
}
