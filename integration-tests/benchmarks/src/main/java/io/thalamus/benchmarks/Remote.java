// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** An engine in a {@link Worker} process. Owns the process. Not thread-safe. */
final class Remote implements AutoCloseable {
  private static final double MILLION = 1e6;
  private static final long PATIENCE_SECONDS = 20;

  private final String engine;
  private final Process process;
  private final PrintStream commands;
  private final BufferedReader answers;
  private Start start;

  /** An engine that cannot run a model. */
  static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    RefusedException(String message) {
      super(message);
    }
  }

  private Remote(String engine, Process process) {
    this.engine = engine;
    this.process = process;
    this.commands = new PrintStream(process.getOutputStream(), true);
    this.answers = new BufferedReader(new InputStreamReader(process.getInputStream()));
  }

  /**
   * Starts a process with the options of this one, and waits for its first run.
   *
   * @param engine its name; {@code NAME@DIR} for the engine of another checkout, whose benchmarks
   *     are built
   * @param log what the process says beside its answers is appended to it
   */
  static Remote start(String engine, Path model, List<Path> inputs, int threads, Path log)
      throws IOException, RefusedException {
    String[] parts = engine.split("@", 2);
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    String classPath = System.getProperty("java.class.path");
    if (parts.length > 1) {
      Path target = Path.of(parts[1], "integration-tests/benchmarks/target");
      command.add("-Dthalamus.home=" + Path.of(parts[1], "launcher/target/thalamus"));
      classPath = target.resolve("classes") + File.pathSeparator + target.resolve("lib/*");
    }
    command.addAll(
        List.of(Worker.class.getName(), parts[0], Integer.toString(threads), model.toString()));
    inputs.forEach(input -> command.add(input.toString()));
    ProcessBuilder builder = new ProcessBuilder(command);
    // ONNX Runtime overflows its stack where the command line is as long as ours.
    builder.environment().put("CLASSPATH", classPath);
    Process process =
        builder
            .directory(log.toAbsolutePath().getParent().toFile())
            .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    Remote remote = new Remote(engine, process);
    try {
      String[] words = remote.answer("ready");
      remote.start =
          new Start(
              Long.parseLong(words[1]) / MILLION,
              Long.parseLong(words[2]) / MILLION,
              Long.parseLong(words[3]) / MILLION,
              Long.parseLong(words[4]) / MILLION);
    } catch (IOException | RefusedException e) {
      remote.close();
      throw e;
    }
    return remote;
  }

  private String[] answer(String word) throws IOException, RefusedException {
    String line = answers.readLine();
    if (line == null) {
      throw new RefusedException("the process ended");
    }
    if (line.startsWith(Worker.FAILED)) {
      throw new RefusedException(line.substring(Worker.FAILED.length()));
    }
    String[] words = line.split(" ");
    if (!words[0].equals(word)) {
      throw new IOException(engine + " answered '" + line + "' instead of " + word);
    }
    return words;
  }

  String engine() {
    return engine;
  }

  Start start() {
    return start;
  }

  /**
   * The times until an engine has run once. Processor time is that of all threads, and not longer
   * where other processes are busy.
   *
   * @param openMillis from the start of its work to a model that is ready to run
   * @param firstMillis of the first run
   */
  record Start(
      double openMillis,
      double firstMillis,
      double openProcessorMillis,
      double firstProcessorMillis) {}

  /** Runs once untimed, then for about so long; the times in milliseconds. */
  List<Double> run(long millis) throws IOException, RefusedException {
    commands.println("run " + TimeUnit.MILLISECONDS.toNanos(millis));
    return times();
  }

  /** Runs once. */
  double once() throws IOException, RefusedException {
    commands.println("once");
    return times().getFirst();
  }

  private List<Double> times() throws IOException, RefusedException {
    String[] words = answer("nanos");
    List<Double> times = new ArrayList<>();
    for (int i = 1; i < words.length; i++) {
      times.add(Long.parseLong(words[i]) / MILLION);
    }
    return times;
  }

  /** The outputs of the last run. */
  List<byte[]> outputs() throws IOException, RefusedException {
    Path folder = Files.createTempDirectory("thalamus-outputs");
    commands.println("write " + folder);
    int count = Integer.parseInt(answer("files")[1]);
    List<byte[]> outputs = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Path file = folder.resolve(i + ".bin");
      outputs.add(Files.readAllBytes(file));
      Files.delete(file);
    }
    Files.delete(folder);
    return outputs;
  }

  /** Returns the facts that are known of it by now. */
  About about() throws IOException, RefusedException {
    commands.println("about");
    String[] words = answer("about");
    return new About(
        Long.parseLong(words[1]), String.join(" ", List.of(words).subList(2, words.length)));
  }

  /**
   * Facts of a running engine.
   *
   * @param peakBytes the largest resident size of its process
   * @param note in its own words
   */
  record About(long peakBytes, String note) {}

  @Override
  public void close() throws IOException {
    commands.close();
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
