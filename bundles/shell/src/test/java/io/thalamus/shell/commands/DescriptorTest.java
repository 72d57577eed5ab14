// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.Candidates;
import io.thalamus.console.Command;
import io.thalamus.console.Syntax;
import io.thalamus.console.text.Style;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.felix.service.command.Descriptor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Help, completion and Gogo's own help of every command, against the syntax that it declares. */
class DescriptorTest {
  private static final Path BIN =
      Path.of(System.getProperty("thalamus.root"), "launcher/src/main/dist/bin");

  /** Options whose values are numbers or names that only the user knows. */
  private static final Set<String> FREE =
      Set.of(
          "bytes",
          "deadline",
          "filter",
          "mean",
          "name",
          "power-budget",
          "rate",
          "repeat",
          "sampling",
          "seconds",
          "shape",
          "signature",
          "std",
          "threads",
          "top",
          "what-if");

  /** Every command class of the package, without the services that it would get. */
  static List<Command> commands() throws Exception {
    Path folder =
        Path.of(DevicesCommand.class.getResource("DevicesCommand.class").toURI()).getParent();
    List<Command> commands = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(found -> found.toString().endsWith(".class")).toList()) {
        String name = file.getFileName().toString().replace(".class", "");
        Class<?> type =
            DescriptorTest.class
                .getClassLoader()
                .loadClass(DevicesCommand.class.getPackageName() + "." + name);
        if (Command.class.isAssignableFrom(type)) {
          commands.add(make(type));
        }
      }
    }
    assertTrue(commands.size() >= 12, commands.toString());
    return commands;
  }

  private static Command make(Class<?> type) throws ReflectiveOperationException {
    Constructor<?> constructor = type.getConstructors()[0];
    Object[] services =
        Arrays.stream(constructor.getParameterTypes()).map(DescriptorTest::stub).toArray();
    return (Command) constructor.newInstance(services);
  }

  /** A service whose methods return stubs, or nothing. */
  private static Object stub(Class<?> type) {
    if (!type.isInterface()) {
      return null;
    }
    return Proxy.newProxyInstance(
        DescriptorTest.class.getClassLoader(),
        new Class<?>[] {type},
        (proxy, method, arguments) -> stub(method.getReturnType()));
  }

  @ParameterizedTest
  @MethodSource("commands")
  void helpAndTabKnowEveryOption(Command command) {
    for (Syntax syntax : command.syntaxes()) {
      String help = syntax.help(Style.PLAIN);
      Set<String> completed = new TreeSet<>();
      for (List<Object> words : CompletionCommand.completions(command)) {
        if (words.get(1).equals(syntax.command()) && words.contains("-l")) {
          completed.add(words.get(words.indexOf("-l") + 1).toString());
        }
      }
      Set<String> declared = new TreeSet<>();
      for (Syntax.Option option : syntax.options()) {
        declared.add(option.name());
        assertTrue(help.contains("--" + option.name()), help);
        if (option.value() != null && !FREE.contains(option.name())) {
          Candidates offered = syntax.candidates(List.of("x", "--" + option.name()));
          assertFalse(
              offered.equals(Candidates.NONE), "Tab offers nothing behind --" + option.name());
        }
      }
      assertEquals(declared, completed, syntax.command());
      assertTrue(declared.containsAll(Set.of("json", "help")), syntax.command());
      assertEquals(
          syntax.operands().isEmpty(),
          syntax.candidates(List.of()).equals(Candidates.NONE)
              && syntax.candidates(List.of("x")).equals(Candidates.NONE));
    }
  }

  @ParameterizedTest
  @MethodSource("commands")
  void gogosHelpDescribesTheCommand(Command command) throws IOException {
    for (Syntax syntax : command.syntaxes()) {
      assertTrue(syntax.command().startsWith("nn:"));
      String function = syntax.command().substring("nn:".length());
      List<Method> methods =
          Arrays.stream(command.getClass().getMethods())
              .filter(method -> Command.function(method).equals(function))
              .filter(method -> method.isAnnotationPresent(Descriptor.class))
              .toList();
      assertEquals(1, methods.size());
      Descriptor words = methods.getFirst().getParameters()[1].getAnnotation(Descriptor.class);
      assertNotNull(words);
      assertEquals((syntax.operands() + " " + Command.OPTIONS).strip(), words.value());
      String line = "  %-10s %s".formatted(function, command.description(syntax));
      assertTrue(Files.readAllLines(BIN.resolve("help.txt")).contains(line), line);
    }
  }
}
