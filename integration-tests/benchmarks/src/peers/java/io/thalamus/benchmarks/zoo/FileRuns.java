// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import ai.onnx.proto.OnnxMl;
import io.thalamus.api.NeuralNetworksException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * Runs files here and by the engines that their formats come from, in a process that one of these
 * may end, and prints notes of it for {@link Tally}. Used by one thread.
 */
final class FileRuns {
  private static final int LOADS = 3;
  private static final int LEAST_ROUNDS = 20;
  private static final long TIMED_NANOS = 1_000_000_000;

  private final Ours ours;
  private final long seed;
  private final boolean isTimeAsked;
  private final boolean isMemoryAsked;
  private final long warmUpNanos;

  /**
   * @param warmUpSeconds of executions before those that are timed
   */
  FileRuns(Ours ours, long seed, boolean isTimeAsked, boolean isMemoryAsked, double warmUpSeconds) {
    this.ours = ours;
    this.seed = seed;
    this.isTimeAsked = isTimeAsked;
    this.isMemoryAsked = isMemoryAsked;
    warmUpNanos = (long) (warmUpSeconds * 1e9);
  }

  /**
   * Runs a file, and prints what it finds.
   *
   * @param name that the table has for it
   */
  void run(Path file, String name) throws Exception {
    String format = name.substring(name.lastIndexOf('.') + 1);
    String verdict;
    String text;
    Tally.Note.ENGINE.print("");
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
    Tally.Note.FILE.print(name, verdict, String.valueOf(text).replaceFirst("^!", ""));
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
        ? List.of(new OnnxPeer(true), new OnnxPeer(false))
        : List.of(new TflitePeer(true), new TflitePeer(false));
  }

  /** Returns whether a file that is refused here is one that its own engine loads. */
  private static boolean isTakenByPeer(Path file, String format) {
    try {
      Peer peer = peers(format).getFirst();
      Tally.Note.ENGINE.print(peer.name());
      peer.load(file, List.of()).close();
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
        ours.inputs(file, Input.shapes(beside)).stream()
            .map(operand -> Input.of(operand, operand.shape()))
            .toList();
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
          Tally.Note.ENGINE.print(peer.name());
          double millis = loadMillis(peer, file, inputs);
          peerMillis = expected.isEmpty() ? millis : peerMillis;
          try (Peer.Loaded loaded = peer.load(file, inputs)) {
            expected.add(loaded.run(numbers));
          }
        }
      } catch (Exception e) {
        throw new PeerFailure(e);
      }
      Tally.Note.ENGINE.print("");
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
              isTflite ? isHybrid(file) : isHybridOnnx(file),
              isTflite ? isHalf(file) : isHalfOnnx(file));
      ratio(format + ".loading", millis / peerMillis);
      String text =
          "%s; reference %s; loading %.2f"
              .formatted(comparison.text(), ours.note(), millis / peerMillis);
      worst =
          isTimeAsked ? text + "; " + times(format, peers.getFirst(), file, inputs, numbers) : text;
      if (!comparison.isRight()) {
        return "!run " + number + ": " + worst;
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
      long warm = System.nanoTime();
      while (System.nanoTime() - warm < warmUpNanos) {
        one.again();
      }
      long start = System.nanoTime();
      for (int round = 0;
          round < LEAST_ROUNDS || System.nanoTime() - start < TIMED_NANOS;
          round++) {
        own.add(one.again() / 1e6);
        others.add(other.again() / 1e6);
        quotients.add(own.getLast() / others.getLast());
      }
      double ratio = Tally.median(quotients);
      ratio(format + ".time", ratio);
      return "time %.2f (%.3f ms, peer %.3f), first %.1f ms (peer %.1f)"
          .formatted(ratio, Tally.median(own), Tally.median(others), first, firstOfPeer);
    }
  }

  private static double firstMillis(Peer.Loaded loaded, List<double[]> numbers) throws Exception {
    long start = System.nanoTime();
    loaded.run(numbers);
    return (System.nanoTime() - start) / 1e6;
  }

  private static void ratio(String name, double ratio) {
    Tally.Note.RATIO.print(name, Double.toString(ratio));
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

  private static OnnxMl.GraphProto readOnnx(Path file) throws IOException {
    return OnnxMl.ModelProto.parseFrom(Files.readAllBytes(file)).getGraph();
  }

  private static boolean isHybridOnnx(Path file) throws IOException {
    return readOnnx(file).getNodeList().stream()
        .anyMatch(node -> node.getOpType().startsWith("DynamicQuantize"));
  }

  private static boolean isHalfOnnx(Path file) throws IOException {
    int half = OnnxMl.TensorProto.DataType.FLOAT16.getNumber();
    OnnxMl.GraphProto graph = readOnnx(file);
    return graph.getInitializerList().stream().anyMatch(tensor -> tensor.getDataType() == half)
        || graph.getNodeList().stream()
            .filter(node -> node.getOpType().equals("Cast"))
            .flatMap(node -> node.getAttributeList().stream())
            .anyMatch(attribute -> attribute.getName().equals("to") && attribute.getI() == half);
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
}
