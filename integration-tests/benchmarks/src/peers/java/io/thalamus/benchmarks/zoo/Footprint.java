// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * The first load of a process: what it takes, once the engine has started.
 *
 * @param kilobytes the largest that the process has been
 */
record Footprint(double millis, long kilobytes) {
  private static final String MARK = "footprint ";

  /** Loads a file by an engine in a process of its own. */
  static Footprint of(String engine, Path file) throws Exception {
    Process process =
        ZooRun.process(List.of("--child", engine, "--dir", file.toString()))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String text = new String(process.getInputStream().readAllBytes());
    int status = process.waitFor();
    int mark = text.lastIndexOf(MARK);
    if (mark < 0) {
      throw new IOException("the process of " + engine + " ended with status " + status);
    }
    String[] numbers = text.substring(mark + MARK.length()).strip().split(" ");
    return new Footprint(Double.parseDouble(numbers[0]), Long.parseLong(numbers[1]));
  }

  /** Loads a file, and prints its footprint. */
  static void child(String engine, Path file, Set<String> devices) throws Exception {
    double millis =
        switch (engine) {
          case "thalamus" -> {
            try (Ours ours = Ours.start(devices)) {
              yield ours.loadMillis(file, List.of());
            }
          }
          case "onnxruntime" -> new OnnxPeer(true).loadMillis(file, List.of());
          default -> new TflitePeer(true).loadMillis(file, List.of());
        };
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        System.out.println(MARK + millis + " " + line.replaceAll("\\D", ""));
      }
    }
  }
}
