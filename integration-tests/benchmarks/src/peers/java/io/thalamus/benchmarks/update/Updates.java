// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The entry of {@code integration-tests/run updates}: engines with native libraries, each wrapped
 * as a bundle in a process of its own, used, and updated twice. Says what happens; others'
 * libraries break no promise of ours.
 */
public final class Updates {
  private static final int UPDATES = 2;

  private Updates() {}

  /** Without arguments all engines; with one, that engine in this process. */
  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 2) {
      PeerBundle peer =
          PeerBundle.ALL.stream()
              .filter(one -> one.name().equals(arguments[0]))
              .findFirst()
              .orElseThrow();
      int failed = Exercise.run(peer, UPDATES, Path.of(arguments[1]));
      System.out.println(peer.name() + ".failedStarts = " + failed);
      System.out.flush();
      Runtime.getRuntime().halt(0); // threads of the engine may be left, and keep the process
    }
    if (arguments.length > 0) {
      System.err.println("usage: integration-tests/run updates");
      System.exit(2);
    }
    for (PeerBundle peer : PeerBundle.ALL) {
      Path folder = Files.createTempDirectory("thalamus-updates");
      try {
        System.out.println(peer.name() + ".status = " + fork(peer, folder));
      } finally {
        delete(folder);
      }
    }
  }

  private static int fork(PeerBundle peer, Path folder) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.add("-DDJL_CACHE_DIR=" + folder.resolve("djl"));
    command.add("-Djava.io.tmpdir=" + folder);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Updates.class.getName()));
    command.addAll(List.of(peer.name(), folder.toString()));
    return new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.INHERIT)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start()
        .waitFor();
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
