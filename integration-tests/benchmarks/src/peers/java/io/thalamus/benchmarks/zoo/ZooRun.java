// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Elements;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * The entry of {@code integration-tests/run zoo}: every model file of a folder, with inputs by
 * seed, run here and by the engines that the format comes from, as a table and as {@code name =
 * value} lines. Fails where a result is wrong, or more than one in twenty files is refused.
 */
public final class ZooRun {
  private static final String USAGE =
      """
      usage: integration-tests/run zoo --dir DIR [--option VALUE]...
        --dir DIR        the files; NAME.inputs beside NAME.onnx may hold lines
                         "INPUT DIMENSIONS [LOW HIGH]", and an empty line after each run
        --only TEXT      files whose name has it
        --devices LIST   (cpu,simd,x86)
        --seed N         of the inputs (1)
        --time yes       runs each file and its peer in turns: the median of the ratios of their
                         times, those of the first runs, and both in milliseconds
        --memory yes     loads each file in processes of its own too, for the peak memory and
                         the time of a process's first load
      """;

  private static final double WANTED = 0.95;
  private static final int MOST_LINE = 300;
  private static final int LOADS = 3;
  private static final int LEAST_ROUNDS = 20;
  private static final long TIMED_NANOS = 1_000_000_000;

  private final Ours ours;
  private final long seed;
  private final boolean isTimeAsked;
  private final boolean isMemoryAsked;
  private final Map<String, Integer> verdicts = new TreeMap<>();
  private final Map<String, List<Double>> ratios = new TreeMap<>();

  private ZooRun(Ours ours, long seed, boolean isTimeAsked, boolean isMemoryAsked) {
    this.ours = ours;
    this.seed = seed;
    this.isTimeAsked = isTimeAsked;
    this.isMemoryAsked = isMemoryAsked;
  }

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
    String child = take(options, "--child", "");
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
    try (Stream<Path> found = Files.list(Path.of(folder))) {
      files =
          found
              .filter(file -> file.toString().matches(".*\\.(tflite|onnx)"))
              .filter(file -> file.getFileName().toString().contains(only))
              .sorted()
              .toList();
    }
    boolean isKept;
    try (Ours ours = Ours.start(devices)) {
      ZooRun run = new ZooRun(ours, seed, isTimeAsked, isMemoryAsked);
      for (Path file : files) {
        run.file(file);
      }
      isKept = run.summary();
    }
    System.exit(isKept ? 0 : 1);
  }

  private static String take(Map<String, String> options, String name, String otherwise) {
    String value = options.remove(name);
    return value == null ? otherwise : value;
  }

  private void file(Path file) throws Exception {
    String name = file.getFileName().toString();
    String format = name.substring(name.lastIndexOf('.') + 1);
    String verdict;
    String text;
    try {
      text = compare(file, format);
      verdict = text.startsWith("!") ? "wrong" : "right";
    } catch (PeerFailure e) {
      verdict = "unmeasured";
      text = "the peer: " + e.getMessage();
    } catch (NeuralNetworksException e) {
      verdict = isTakenByPeer(file, format) ? "refused" : "unmeasured";
      text = e.getMessage();
    } catch (RuntimeException e) {
      verdict = "crashed";
      text = e.toString();
    }
    verdicts.merge(format + "." + verdict, 1, Integer::sum);
    String line = String.valueOf(text).lines().findFirst().orElse("").replaceFirst("^!", "");
    System.out.printf(
        "%-34s %-10s %s%n", name, verdict, line.substring(0, Math.min(MOST_LINE, line.length())));
  }

  /** A peer's refusal: nothing is known of the file. */
  private static final class PeerFailure extends Exception {
    private static final long serialVersionUID = 1;

    PeerFailure(Exception cause) {
      super(cause.getMessage(), cause);
    }
  }

  private static List<Peer> peers(String format) {
    return format.equals("onnx")
        ? List.of(new OnnxPeer())
        : List.of(new TflitePeer(true), new TflitePeer(false));
  }

  /** Returns whether a file that is refused here is one that its own engine loads. */
  private static boolean isTakenByPeer(Path file, String format) {
    try {
      peers(format).getFirst().load(file, List.of()).close();
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  private String compare(Path file, String format) throws Exception {
    List<Peer> peers = peers(format);
    Path beside =
        file.resolveSibling(file.getFileName().toString().replaceFirst("\\.\\w+$", "") + ".inputs");
    List<Input> stated =
        ours.inputs(file).stream().map(operand -> Input.of(operand, operand.shape())).toList();
    String worst = "";
    int number = 0;
    for (List<Input> inputs : Input.runs(beside, stated)) {
      number++;
      Random random = new Random(seed);
      List<double[]> numbers = inputs.stream().map(input -> input.numbers(random)).toList();
      List<List<Value>> expected = new ArrayList<>();
      double peerMillis = 0;
      try {
        for (Peer peer : peers) {
          double millis = loadMillis(peer, file, inputs);
          peerMillis = expected.isEmpty() ? millis : peerMillis;
          try (Peer.Loaded loaded = peer.load(file, inputs)) {
            expected.add(loaded.run(numbers));
          }
        }
      } catch (Exception e) {
        throw new PeerFailure(e);
      }
      double millis = loadMillis(ours, file, inputs);
      List<Value> values;
      try (Peer.Loaded loaded = ours.load(file, inputs)) {
        values = loaded.run(numbers);
      }
      boolean isTflite = format.equals("tflite");
      Comparison comparison =
          Comparison.of(
              values,
              expected,
              isTflite && isHybrid(file),
              isTflite ? isHalf(file) : isHalf(expected));
      ratio(format + ".loading", millis / peerMillis);
      String text =
          "%s; reference %s; loading %.2f"
              .formatted(comparison.text(), ours.note(), millis / peerMillis);
      if (!comparison.isRight()) {
        return "!run " + number + ": " + text;
      }
      worst = text;
      if (isTimeAsked) {
        worst = text + "; " + times(format, peers.getFirst(), file, inputs, numbers);
      }
    }
    if (isMemoryAsked) {
      Footprint own = Footprint.of(ours.name(), file);
      Footprint other = Footprint.of(peers.getFirst().name(), file);
      double memory = (double) own.kilobytes() / other.kilobytes();
      ratio(format + ".memory", memory);
      ratio(format + ".firstLoading", own.millis() / other.millis());
      worst +=
          "; memory %.2f (%d MB); first loading %.2f (%.0f ms, peer %.1f)"
              .formatted(
                  memory,
                  own.kilobytes() / 1024,
                  own.millis() / other.millis(),
                  own.millis(),
                  other.millis());
    }
    return worst;
  }

  /** Both engines in turns, until some time is over. */
  private String times(
      String format, Peer peer, Path file, List<Input> inputs, List<double[]> numbers)
      throws Exception {
    try (Peer.Loaded one = ours.load(file, inputs);
        Peer.Loaded other = peer.load(file, inputs)) {
      double first = firstMillis(one, numbers);
      double firstOfPeer = firstMillis(other, numbers);
      List<Double> own = new ArrayList<>();
      List<Double> others = new ArrayList<>();
      List<Double> quotients = new ArrayList<>();
      long start = System.nanoTime();
      for (int round = 0;
          round < LEAST_ROUNDS || System.nanoTime() - start < TIMED_NANOS;
          round++) {
        own.add(one.again() / 1e6);
        others.add(other.again() / 1e6);
        quotients.add(own.getLast() / others.getLast());
      }
      double ratio = median(quotients);
      ratio(format + ".time", ratio);
      return "time %.2f (%.3f ms, peer %.3f), first %.1f ms (peer %.1f)"
          .formatted(ratio, median(own), median(others), first, firstOfPeer);
    }
  }

  private static double firstMillis(Peer.Loaded loaded, List<double[]> numbers) throws Exception {
    long start = System.nanoTime();
    loaded.run(numbers);
    return (System.nanoTime() - start) / 1e6;
  }

  private static double median(List<Double> values) {
    return values.stream().sorted().toList().get(values.size() / 2);
  }

  private void ratio(String name, double ratio) {
    ratios.computeIfAbsent(name, _ -> new ArrayList<>()).add(ratio);
  }

  /** The fastest of some, since the first one of all loads classes and libraries. */
  private static double loadMillis(Peer peer, Path file, List<Input> inputs) throws Exception {
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < LOADS; i++) {
      least = Math.min(least, peer.loadMillis(file, inputs));
    }
    return least;
  }

  private static Model read(Path file) throws IOException {
    return Model.getRootAsModel(ByteBuffer.wrap(Files.readAllBytes(file)));
  }

  private static boolean isHalf(Path file) throws IOException {
    Model model = read(file);
    for (int g = 0; g < model.subgraphsLength(); g++) {
      SubGraph graph = model.subgraphs(g);
      for (int t = 0; t < graph.tensorsLength(); t++) {
        if (graph.tensors(t).type() == TensorType.FLOAT16) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isHalf(List<List<Value>> results) {
    return results.stream()
        .flatMap(List::stream)
        .anyMatch(value -> value.elements() == Elements.FLOAT16);
  }

  private static boolean isHybrid(Path file) throws IOException {
    Model model = read(file);
    for (int g = 0; g < model.subgraphsLength(); g++) {
      SubGraph graph = model.subgraphs(g);
      for (int o = 0; o < graph.operatorsLength(); o++) {
        Operator operator = graph.operators(o);
        if (operator.inputsLength() > 1 && operator.inputs(0) >= 0 && operator.inputs(1) >= 0) {
          Tensor data = graph.tensors(operator.inputs(0));
          Tensor weights = graph.tensors(operator.inputs(1));
          if (data.type() == TensorType.FLOAT32
              && (weights.type() == TensorType.INT8 || weights.type() == TensorType.UINT8)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  private boolean summary() {
    verdicts.forEach((name, count) -> System.out.println(name + " = " + count));
    ratios.forEach(
        (name, values) -> {
          double logarithm = values.stream().mapToDouble(Math::log).average().orElse(0);
          System.out.printf(
              Locale.ROOT,
              "%s.medianRatio = %.2f%n%s.geometricMean = %.2f%n",
              name,
              median(values),
              name,
              Math.exp(logarithm));
        });
    boolean isKept = true;
    for (String format : List.of("onnx", "tflite")) {
      int right = count(format, "right");
      int bad = count(format, "wrong") + count(format, "crashed");
      int all = right + bad + count(format, "refused");
      if (all > 0) {
        System.out.printf(Locale.ROOT, "%s.rightShare = %.3f%n", format, right / (double) all);
        isKept &= bad == 0 && right >= WANTED * all;
      }
    }
    return isKept;
  }

  private int count(String format, String verdict) {
    return verdicts.getOrDefault(format + "." + verdict, 0);
  }
}
