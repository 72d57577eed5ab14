// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A way to start the JVM of a measured program. Immutable.
 *
 * @param name of its figures; empty for the usual one
 * @param isFirstCompiler whether the JVM has its first compiler alone (C1), which takes less of the
 *     processors' time
 * @param isAhead whether it has an AOT cache
 */
record JvmStart(String name, boolean isFirstCompiler, boolean isAhead) {
  static final List<JvmStart> ALL =
      List.of(
          new JvmStart("", false, false),
          new JvmStart("aot", false, true),
          new JvmStart("c1", true, false),
          new JvmStart("c1.aot", true, true));

  /**
   * Returns the options of the JVM, after a run of the program that has made the cache.
   *
   * @param arguments of that run
   */
  List<String> options(FreshProgram program, Path folder, String... arguments) throws Exception {
    List<String> options = new ArrayList<>();
    if (isFirstCompiler) {
      options.add("-XX:TieredStopAtLevel=1");
    }
    if (isAhead) {
      Path cache = Files.createTempFile(folder, program.name(), ".aot");
      List<String> first = new ArrayList<>(options);
      first.add("-XX:AOTCacheOutput=" + cache);
      program.run(first, folder, arguments);
      options.add("-XX:AOTCache=" + cache);
    }
    return options;
  }
}
