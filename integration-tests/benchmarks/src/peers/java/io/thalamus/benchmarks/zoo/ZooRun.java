// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The entry of {@code integration-tests/run zoo}: every model file in a folder and in its folders,
 * with inputs by seed, run here and by the engines that the format comes from, as a table and as
 * {@code name = value} lines. Fails where a result is wrong, or more than one in twenty files is
 * refused.
 *
 * <p>A native engine may end its process; so the files are run in another one than this, which is
 * started anew for the rest.
 */
public final class ZooRun {
  private static final String USAGE =
      """
      usage: integration-tests/run zoo --dir DIR [--option VALUE]...
        --dir DIR        the files, and those of folders in it; NAME.inputs beside NAME.onnx may
                         hold lines "INPUT DIMENSIONS [LOW HIGH]", and an empty line after each
                         run
        --only TEXT      files whose name, from DIR on, has it
        --devices LIST   (cpu,simd,x86)
        --seed N         of the inputs (1)
        --time yes       runs each file and its peer in turns: the median of the ratios of their
                         times, those of the first runs, and both in milliseconds
        --warmup S       seconds of executions before those that are timed (0)
        --memory yes     loads each file in processes of its own too, for the peak memory and
                         the time of a process's first load
      """;

  private ZooRun() {}

  /** Runs; status 0 where the promise is kept, 1 where not, 2 for a wrong option. */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new LinkedHashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i], arguments[i + 1]);
    }
    String folder = take(options, "--dir", "");
    String only = take(options, "--only", "");
    Set<String> devices = Set.of(take(options, "--devices", "cpu,simd,x86").split(","));
    long seed = Long.parseLong(take(options, "--seed", "1"));
    boolean isTimeAsked = take(options, "--time", "no").equals("yes");
    boolean isMemoryAsked = take(options, "--memory", "no").equals("yes");
    double warmUpSeconds = Double.parseDouble(take(options, "--warmup", "0"));
    String child = take(options, "--child", "");
    String first = take(options, "--from", "");
    if (!options.isEmpty() || arguments.length % 2 != 0 || folder.isEmpty()) {
      System.err.println("unknown: " + String.join(" ", options.keySet()));
      System.err.print(USAGE);
      System.exit(2);
    }
    if (!child.isEmpty()) {
      Footprint.child(child, Path.of(folder), devices);
      System.exit(0);
    }
    List<Path> files;
    try (Stream<Path> found = Files.walk(Path.of(folder), FileVisitOption.FOLLOW_LINKS)) {
      files =
          found
              .filter(file -> file.toString().matches(".*\\.(tflite|onnx)"))
              .filter(file -> name(folder, file).contains(only))
              .sorted()
              .toList();
    } catch (UncheckedIOException | IOException e) {
      System.err.println("cannot read " + folder + ": " + e);
      System.exit(2);
      return;
    }
    if (files.isEmpty()) {
      System.err.println(
          "there is no .tflite or .onnx file in "
              + folder
              + (only.isEmpty() ? "" : " whose name has " + only));
      System.exit(2);
    }
    if (first.isEmpty()) {
      List<String> names = files.stream().map(file -> name(folder, file)).toList();
      System.exit(inProcesses(names, arguments) ? 0 : 1);
    }
    try (Ours ours = Ours.start(devices)) {
      FileRuns runs = new FileRuns(ours, seed, isTimeAsked, isMemoryAsked, warmUpSeconds);
      for (Path file : files.subList(Integer.parseInt(first), files.size())) {
        runs.run(file, name(folder, file));
      }
    }
    System.exit(0);
  }

  private static String name(String folder, Path file) {
    return Path.of(folder).relativize(file).toString();
  }

  private static String take(Map<String, String> options, String name, String otherwise) {
    String value = options.remove(name);
    return value == null ? otherwise : value;
  }

  /** Runs all files; returns whether the promise is kept. */
  private static boolean inProcesses(List<String> files, String... arguments) throws Exception {
    Tally tally = new Tally();
    while (tally.files() < files.size()) {
      List<String> with = new ArrayList<>(List.of(arguments));
      with.addAll(List.of("--from", Integer.toString(tally.files())));
      Process process = process(with).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      try (BufferedReader lines = process.inputReader()) {
        lines.lines().forEach(tally::take);
      }
      int status = process.waitFor();
      if (tally.files() < files.size()) {
        tally.ended(files.get(tally.files()), status);
      }
    }
    return tally.summary();
  }

  /** Returns this program in another process, with other arguments. */
  static ProcessBuilder process(List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElseThrow());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.add(ZooRun.class.getName());
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command);
    // ONNX Runtime ends its process where the command line is that long.
    builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
    return builder;
  }
}
