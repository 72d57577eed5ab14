// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The writer of the list of classes that the embedded jar loads ahead of a first inference. */
final class FirstClasses {
  private static final Path LIST =
      Path.of(
          System.getProperty("thalamus.root"),
          "bundles/embedded/src/main/resources/META-INF/thalamus/first-classes.txt");

  /** A class of the jar in the JVM's log. Those that the build names by numbers are left out. */
  private static final Pattern LOADED =
      Pattern.compile("(io\\.thalamus\\.(?!\\S*Lambdas\\$)\\S+) source: file:");

  /** What stands before it in the log is needed before a thread could have loaded it. */
  private static final String DEVICE = "io.thalamus.x86.X86Device";

  private FirstClasses() {}

  /**
   * Writes what a program loads.
   *
   * @param arguments of the program, which runs in a folder
   */
  static void write(FreshProgram program, Path folder, String... arguments)
      throws IOException, InterruptedException {
    Path log = folder.resolve("classes.log");
    // With one processor, nothing is loaded ahead: the log has the order of the program.
    program.run(
        List.of("-XX:ActiveProcessorCount=1", "-Xlog:class+load:file=" + log), folder, arguments);
    List<String> names =
        LOADED.matcher(Files.readString(log)).results().map(found -> found.group(1)).toList();
    List<String> late = names.subList(names.indexOf(DEVICE), names.size());
    Files.createDirectories(LIST.getParent());
    Files.write(LIST, late);
    System.out.println("classes = " + late.size());
  }
}
