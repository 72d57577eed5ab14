// SPDX-License-Identifier: Apache-2.0
package io.thalamus.fuzz;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * {@code integration-tests/run fuzz [--minutes N] [--reader tflite|onnx|json]}: random files for
 * each reader, guided by coverage. A finding is anything thrown but {@code ModelFormatException}, a
 * file that takes half a minute with the instruments in the code, or an exhausted heap; its file
 * stays in {@code target/fuzz}.
 */
public final class Main {
  private static final Map<String, Class<?>> READERS = readers();

  private static final String USAGE = "usage: fuzz [--minutes N] [--reader tflite|onnx|json]";
  private static final Pattern FIGURES = Pattern.compile("#(\\d+).*\\bcov: (\\d+) .*");

  private Main() {}

  private static Map<String, Class<?>> readers() {
    Map<String, Class<?>> readers = new LinkedHashMap<>();
    readers.put("tflite", TfliteTarget.class);
    readers.put("onnx", OnnxTarget.class);
    readers.put("json", JsonTarget.class);
    return readers;
  }

  /** Fuzzes; exits with 1 where there are findings, with 2 for wrong options. */
  public static void main(String[] args) throws IOException, InterruptedException {
    double minutes = 1;
    List<String> chosen = new ArrayList<>(READERS.keySet());
    for (int i = 0; i < args.length; i += 2) {
      String value = i + 1 < args.length ? args[i + 1] : "";
      if (args[i].equals("--minutes") && value.matches("\\d+(\\.\\d+)?")) {
        minutes = Double.parseDouble(value);
      } else if (args[i].equals("--reader") && READERS.containsKey(value)) {
        chosen = List.of(value);
      } else {
        System.err.println(USAGE);
        System.exit(2);
      }
    }
    Path root = Path.of(System.getProperty("thalamus.root"));
    int findings = 0;
    for (String reader : chosen) {
      findings += fuzz(reader, root, Math.max(1, Math.round(60 * minutes)));
    }
    System.exit(findings == 0 ? 0 : 1);
  }

  private static int fuzz(String reader, Path root, long seconds)
      throws IOException, InterruptedException {
    Path folder = root.resolve("integration-tests/fuzz/target/fuzz").resolve(reader);
    delete(folder);
    Path seeds = folder.resolve("seeds");
    Seeds.write(reader, root, seeds);
    List<String> command = command(READERS.get(reader).getName(), folder, seconds);
    Optional<String> dictionary = Seeds.dictionary(reader);
    if (dictionary.isPresent()) {
      Path words = Files.writeString(folder.resolve("words"), dictionary.get());
      command.add("-dict=" + words);
    }
    command.add(Files.createDirectories(folder.resolve("found")).toString());
    command.add(seeds.toString());
    Path log = folder.resolve("log");
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    process.getOutputStream().close();
    process.waitFor();
    return report(reader, folder, Files.readString(log));
  }

  private static List<String> command(String target, Path folder, long seconds) {
    return new ArrayList<>(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx1g",
            "-XX:+UseSerialGC",
            "-XX:+EnableDynamicAgentLoading",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-modules=jdk.incubator.vector",
            "-cp",
            System.getProperty("java.class.path"),
            "com.code_intelligence.jazzer.Jazzer",
            "--target_class=" + target,
            "--instrumentation_includes=io.thalamus.**:com.google.protobuf.**:com.fasterxml.**",
            "--disabled_hooks=com.code_intelligence.jazzer.sanitizers.*",
            "--keep_going=20",
            "--reproducer_path=" + folder,
            "-artifact_prefix=" + folder + "/",
            "-max_total_time=" + seconds,
            "-max_len=" + Seeds.MAX_SIZE,
            "-timeout=30",
            "-rss_limit_mb=0"));
  }

  private static int report(String reader, Path folder, String log) throws IOException {
    List<String> findings;
    try (Stream<Path> files = Files.list(folder)) {
      findings =
          files
              .map(file -> file.getFileName().toString())
              .filter(name -> name.matches("(crash|timeout|oom|slow-unit)-.*"))
              .sorted()
              .toList();
    }
    Matcher figures = FIGURES.matcher(log);
    String runs = "";
    String coverage = "";
    while (figures.find()) {
      runs = figures.group(1);
      coverage = figures.group(2);
    }
    if (runs.isEmpty()) {
      throw new IOException("Jazzer did not run; see " + folder.resolve("log"));
    }
    System.out.println(reader + ".files = " + runs);
    System.out.println(reader + ".coverage = " + coverage);
    System.out.println(reader + ".findings = " + findings.size());
    findings.forEach(name -> System.out.println("  " + folder.resolve(name)));
    return findings.size();
  }

  private static void delete(Path folder) throws IOException {
    if (Files.isDirectory(folder)) {
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
  }
}
