// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The memory that an engine takes to load a file, beside the other's, in processes of their own.
 */
final class Footprint {
  private static final String MARK = "peak ";

  private Footprint() {}

  /** Returns the peak memory of ours as a multiple of the peer's. */
  static double ratio(String peer, String ours, Path file) throws Exception {
    return (double) peak(ours, file) / peak(peer, file);
  }

  private static long peak(String engine, Path file) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElseThrow());
    for (String option :
        java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      command.add(option);
    }
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            ZooRun.class.getName(),
            "--child",
            engine,
            "--dir",
            file.toString()));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String text = new String(process.getInputStream().readAllBytes());
    int status = process.waitFor();
    int mark = text.lastIndexOf(MARK);
    if (mark < 0) {
      throw new IOException("the process of " + engine + " ended with status " + status);
    }
    return Long.parseLong(text.substring(mark + MARK.length()).strip());
  }

  /** Loads a file, and prints how much memory the process has had at most. */
  static void child(String engine, Path file, Set<String> devices) throws Exception {
    switch (engine) {
      case "thalamus" -> {
        try (Ours ours = Ours.start(devices)) {
          ours.load(file, List.of()).close();
        }
      }
      case "onnxruntime" -> new OnnxPeer().load(file, List.of()).close();
      default -> new TflitePeer(true).load(file, List.of()).close();
    }
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        System.out.println(MARK + line.replaceAll("\\D", ""));
      }
    }
  }
}
