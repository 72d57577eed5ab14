// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import io.thalamus.benchmarks.network.OnnxFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The entry of {@code integration-tests/run first-result}: the ten lines of the README, and the
 * same program with ONNX Runtime and with DJL, each in processes of their own, in turns. A time is
 * that from the start of the process to its first line, the JVM's own start included; memory is the
 * most that was resident; downloaded are the jars on the class path. Each is measured with the
 * JVM's options and with its first compiler alone ({@code c1}), without and with an AOT cache of
 * the JVM, which a run before has made.
 */
public final class FirstResult {
  private static final int RUNS = 11;
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final Path SAMPLES = ROOT.resolve("launcher/samples/digits");
  private static final Pattern TEN_LINES =
      Pattern.compile("```java\\n(import io\\.thalamus\\.embedded.*?)```", Pattern.DOTALL);

  private FirstResult() {}

  /** Takes no arguments; ends with 1 if an answer is not 3. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Files.createTempDirectory("thalamus-first");
    boolean areRight = true;
    try {
      Files.copy(SAMPLES.resolve("digits.tflite"), folder.resolve("digits.tflite"));
      Files.copy(SAMPLES.resolve("digit-3.png"), folder.resolve("digit-3.png"));
      OnnxFile.write(
          DigitsNetwork.read(folder.resolve("digits.tflite")), folder.resolve("digits.onnx"));
      List<FreshProgram> programs =
          programs(folder).stream().filter(FirstResult::isDescribed).toList();
      for (JvmStart start : JvmStart.ALL) {
        areRight &= measure(programs, start, folder);
      }
    } finally {
      delete(folder);
    }
    System.exit(areRight ? 0 : 1);
  }

  private static List<FreshProgram> programs(Path folder) throws IOException {
    Matcher lines = TEN_LINES.matcher(Files.readString(ROOT.resolve("README.md")));
    if (!lines.find()) {
      throw new IOException("the README has no ten lines of Java");
    }
    return List.of(
        FreshProgram.ofThalamus("Digits", lines.group(1), folder),
        FreshProgram.ofPeer("onnxruntime", "onnxruntime-[0-9].*", OnnxRuntimeDigits.class, folder),
        FreshProgram.ofPeer(
            "djl",
            "(onnxruntime|api|gson|jna|commons-(compress|codec|io|lang3)|slf4j-api)-[0-9].*"
                + "|onnxruntime-engine-.*",
            DjlDigits.class,
            folder));
  }

  /** Prints what a program consists of; returns false if it is not here. */
  private static boolean isDescribed(FreshProgram program) {
    if (program.jars().isEmpty()) {
      System.out.println(program.name() + " = not measured: its jars are not on the class path");
      return false;
    }
    long bytes = program.jars().stream().mapToLong(jar -> jar.toFile().length()).sum();
    program.print("jars", program.jars().size());
    program.print("downloadedMegabytes", "%.1f".formatted(bytes / 1e6));
    return true;
  }

  /** Runs the programs in turns, since a machine is not as fast all the time. */
  private static boolean measure(List<FreshProgram> programs, JvmStart start, Path folder)
      throws Exception {
    List<List<String>> options = new ArrayList<>();
    List<List<FreshProgram.Run>> runs = new ArrayList<>();
    for (FreshProgram program : programs) {
      options.add(start.options(program, folder));
      runs.add(new ArrayList<>());
    }
    for (int i = 0; i < RUNS; i++) {
      for (int k = 0; k < programs.size(); k++) {
        runs.get(k).add(programs.get(k).run(options.get(k), folder));
      }
    }
    String kind = start.name().isEmpty() ? "" : start.name() + ".";
    boolean areRight = true;
    for (int k = 0; k < programs.size(); k++) {
      areRight &= isRight(programs.get(k), kind, runs.get(k));
    }
    return areRight;
  }

  /** Prints the figures of a program; returns whether it saw the right digit. */
  private static boolean isRight(FreshProgram program, String kind, List<FreshProgram.Run> runs) {
    List<FreshProgram.Run> byTime =
        runs.stream().sorted(Comparator.comparingDouble(FreshProgram.Run::millis)).toList();
    String answer = runs.getFirst().lines().getFirst();
    program.print(kind + "answer", answer);
    String first = kind + "coldFirstResultMillis.";
    program.print(first + "median", Math.round(byTime.get(RUNS / 2).millis()));
    program.print(first + "fastest", Math.round(byTime.getFirst().millis()));
    long peak = runs.stream().mapToLong(FreshProgram.Run::peakKilobytes).max().orElse(0);
    program.print(kind + "peakResidentMegabytes", peak == 0 ? "unknown here" : "" + peak / 1024);
    return answer.startsWith("[3 ");
  }

  /** Removes a folder with all that is in it. */
  static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
