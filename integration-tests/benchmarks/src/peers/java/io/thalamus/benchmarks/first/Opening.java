// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import io.thalamus.benchmarks.network.Network;
import io.thalamus.benchmarks.network.OnnxFile;
import io.thalamus.benchmarks.network.TfliteFile;
import io.thalamus.benchmarks.network.Zoo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The entry of {@code integration-tests/run opening}: programs that open a network and run it, with
 * Thalamus and with ONNX Runtime in turns, each time in a process of its own, in each of {@link
 * JvmStart#ALL}. Figures are medians over the processes, in milliseconds; a result's is from the
 * start of the process, opening includes what an engine starts once.
 */
public final class Opening {
  private static final int RUNS = 7;
  private static final String SECONDS = "1.5";

  /** Executions of a process whose median is its steady time. */
  private static final int LAST = 20;

  private static final String THALAMUS =
      """
      import io.thalamus.api.Tensor;
      import io.thalamus.embedded.Thalamus;

      void main(String[] arguments) throws Exception {
        long start = System.nanoTime();
        try (var thalamus = Thalamus.start()) {
          long started = System.nanoTime();
          try (var network = thalamus.network(Path.of(arguments[0]))) {
            long opened = System.nanoTime();
            var operand = network.inputs().getFirst();
            var input = Tensor.of(operand, new float[(int) operand.shape().elementCount()]);
            long begin = System.nanoTime();
            network.run(input);
            long end = System.nanoTime();
            System.out.printf("%d %d %d%n", started - start, opened - started, end - begin);
            double seconds = Double.parseDouble(arguments[1]);
            while (System.nanoTime() - end < seconds * 1e9) {
              long before = System.nanoTime();
              network.run(input);
              System.out.println(System.nanoTime() - before);
            }
          }
        }
      }
      """;

  private Opening() {}

  /**
   * Takes the names of networks; without any, MobileNetV2 and ResNet-50. With {@code
   * --write-classes} alone it writes which classes a first inference needs.
   */
  public static void main(String[] arguments) throws Exception {
    List<String> names =
        arguments.length == 0 ? List.of("mobilenet_v2", "resnet_50") : List.of(arguments);
    Path folder = Files.createTempDirectory("thalamus-opening");
    try {
      FreshProgram ours = FreshProgram.ofThalamus("Opens", THALAMUS, folder);
      if (names.equals(List.of("--write-classes"))) {
        Path file = folder.resolve("mobilenet_v2.tflite");
        TfliteFile.write(Zoo.network("mobilenet_v2"), file);
        FirstClasses.write(ours, folder, file.getFileName().toString(), "0");
        return;
      }
      FreshProgram peer =
          FreshProgram.ofPeer(
              "onnxruntime", "onnxruntime-[0-9].*", OnnxRuntimeNetwork.class, folder);
      if (peer.jars().isEmpty()) {
        throw new IllegalStateException("ONNX Runtime is not on the class path");
      }
      for (String name : names) {
        Network network = Zoo.network(name);
        TfliteFile.write(network, folder.resolve(name + ".tflite"));
        OnnxFile.write(network, folder.resolve(name + ".onnx"));
        for (JvmStart start : JvmStart.ALL) {
          compare(
              start.name().isEmpty() ? name : name + "." + start.name(),
              measured(ours, name + ".tflite", start, folder),
              measured(peer, name + ".onnx", start, folder));
        }
      }
    } finally {
      FirstResult.delete(folder);
    }
  }

  /** Returns a function that runs a program once more. */
  private static Measured measured(FreshProgram program, String file, JvmStart start, Path folder)
      throws Exception {
    List<String> options = start.options(program, folder, file, "0");
    return () -> program.run(options, folder, file, SECONDS);
  }

  /** A program that can be run. */
  private interface Measured {
    FreshProgram.Run run() throws Exception;
  }

  private static void compare(String name, Measured ours, Measured peer) throws Exception {
    List<FreshProgram.Run> own = new ArrayList<>();
    List<FreshProgram.Run> others = new ArrayList<>();
    for (int i = 0; i < RUNS; i++) {
      own.add(ours.run());
      others.add(peer.run());
    }
    print(name, "result", own, others, FreshProgram.Run::millis);
    print(name, "opening", own, others, run -> number(run, 0) + number(run, 1));
    print(name, "first", own, others, run -> number(run, 2));
    print(name, "steady", own, others, Opening::steady);
    print(name, "peakResidentMegabytes", own, others, run -> run.peakKilobytes() / 1024.0);
    System.out.printf(
        "%s.firstOfSteady = %.2f, %.2f%n",
        name,
        quantile(own, run -> number(run, 2) / steady(run), 0.5),
        quantile(others, run -> number(run, 2) / steady(run), 0.5));
    System.out.printf("%s.steadySpread = %.2f, %.2f%n", name, spread(own), spread(others));
  }

  private static void print(
      String name,
      String figure,
      List<FreshProgram.Run> own,
      List<FreshProgram.Run> others,
      ToDoubleFunction<FreshProgram.Run> value) {
    double ours = quantile(own, value, 0.5);
    double theirs = quantile(others, value, 0.5);
    System.out.printf("%s.%s = %.1f, %.1f: %.2f%n", name, figure, ours, theirs, ours / theirs);
  }

  private static double number(FreshProgram.Run run, int word) {
    return Long.parseLong(run.lines().getFirst().split(" ")[word]) / 1e6;
  }

  private static double steady(FreshProgram.Run run) {
    double[] nanos =
        run.lines().subList(Math.max(1, run.lines().size() - LAST), run.lines().size()).stream()
            .mapToDouble(Double::parseDouble)
            .sorted()
            .toArray();
    return nanos[nanos.length / 2] / 1e6;
  }

  /** Returns how far the processes differ: the tenth of ten by the first of ten. */
  private static double spread(List<FreshProgram.Run> runs) {
    return quantile(runs, Opening::steady, 0.9) / quantile(runs, Opening::steady, 0.1);
  }

  private static double quantile(
      List<FreshProgram.Run> runs, ToDoubleFunction<FreshProgram.Run> value, double share) {
    double[] values = runs.stream().mapToDouble(value).sorted().toArray();
    return values[(int) Math.round(share * (values.length - 1))];
  }
}
