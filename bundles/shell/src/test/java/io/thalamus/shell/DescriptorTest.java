// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.shell.arguments.Syntax;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.felix.service.command.Descriptor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Gogo's help says of a command agrees with what the command takes. */
class DescriptorTest {
  @ParameterizedTest
  @ValueSource(
      classes = {
        BenchCommand.class,
        BundlesCommand.class,
        CacheCommand.class,
        DevicesCommand.class,
        DoctorCommand.class,
        InfoCommand.class,
        MeasureCommand.class,
        MemCommand.class,
        ModelsCommand.class,
        PlanCommand.class,
        RunCommand.class,
        VerifyCommand.class
      })
  void gogosHelpNamesEveryOption(Class<?> command) throws Exception {
    int found = 0;
    for (Field field : command.getDeclaredFields()) {
      if (field.getType() == Syntax.class) {
        check(command, (Syntax) field.get(null));
        found++;
      }
    }
    assertTrue(found > 0);
  }

  private static void check(Class<?> command, Syntax syntax) throws IOException {
    String function = syntax.command().substring("nn:".length());
    List<Method> methods =
        Arrays.stream(command.getMethods())
            .filter(method -> method.getName().equals(function))
            .toList();
    assertEquals(1, methods.size());
    Method method = methods.getFirst();
    assertNotNull(method.getAnnotation(Descriptor.class));
    Descriptor arguments = method.getParameters()[1].getAnnotation(Descriptor.class);
    assertNotNull(arguments);
    Set<String> named = new TreeSet<>();
    Matcher options = Pattern.compile("--?([a-z][a-z-]*)").matcher(arguments.value());
    while (options.find()) {
      named.add(options.group(1).equals("v") ? "verbose" : options.group(1));
    }
    assertTrue(arguments.value().endsWith("; " + syntax.command() + " --help says more"));
    assertEquals(syntax.names(), named);
    assertTrue(syntax.command().startsWith("nn:"));
    checkDistribution(syntax, method.getAnnotation(Descriptor.class).value());
  }

  /** What the launcher's help and the interactive shell's profile say of the command. */
  private static void checkDistribution(Syntax syntax, String description) throws IOException {
    Path bin = Path.of(System.getProperty("thalamus.root"), "launcher/src/main/dist/bin");
    String line = "  %-10s %s".formatted(syntax.command().substring("nn:".length()), description);
    assertTrue(Files.readAllLines(bin.resolve("help.txt")).contains(line), line);
    Set<String> completed = new TreeSet<>();
    Pattern option = Pattern.compile("complete -c " + syntax.command() + "( -s \\w)? -l (\\S+) .*");
    for (String row : Files.readAllLines(bin.resolve("etc/gosh_profile"))) {
      Matcher matcher = option.matcher(row);
      if (matcher.matches()) {
        completed.add(matcher.group(2));
      }
    }
    assertEquals(syntax.names(), completed, "in gosh_profile, for " + syntax.command());
  }
}
