// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command of another process: a main class of the tests in the same virtual machine. */
final class JavaProcess {
  private JavaProcess() {}

  /** Returns it with options for the virtual machine. */
  static ProcessBuilder of(List<String> options, Class<?> main, Object... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    for (Object argument : arguments) {
      command.add(argument.toString());
    }
    return new ProcessBuilder(command);
  }

  /** Returns the option that allows native calls, or one that says nothing. */
  static List<String> nativeAccess(boolean isNative) {
    return List.of(isNative ? "--enable-native-access=ALL-UNNAMED" : "-Dnative=no");
  }
}
