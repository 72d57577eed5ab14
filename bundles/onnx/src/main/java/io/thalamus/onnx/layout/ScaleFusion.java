// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.onnx.layout.QuantizedConstants.real;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Has the weights and the bias of a convolution or a layer take the known factors and sums of its
 * channels that follow it, as a batch normalization is, where nothing else reads its result or its
 * weights: so all copies together are no larger than the constants of the file. Whole weights stay
 * as they are, since their sums are exact, and so do those that a file stores as 8-bit integers.
 */
final class ScaleFusion {
  private static final int WEIGHTS = 1;
  private static final int BIAS = 2;

  private final Map<Constant, Grid> grids;
  private final Uses uses;
  private final List<Operand> operands;
  private final List<Operation> operations;
  private final Map<Integer, Channels> changed = new TreeMap<>();

  /** What becomes of each channel: times a factor, and then a sum. */
  private record Channels(double[] factors, double[] sums) {}

  private ScaleFusion(Subgraph graph, Map<Constant, Grid> grids) {
    this.grids = grids;
    uses = new Uses(graph);
    operands = new ArrayList<>(graph.operands());
    operations = new ArrayList<>(graph.operations());
  }

  /**
   * A graph that computes the same with fewer operations.
   *
   * @param grids of stored integers, by identity of the constants
   */
  static Subgraph fuse(Subgraph graph, Map<Constant, Grid> grids) {
    ScaleFusion fusion = new ScaleFusion(graph, grids);
    for (int i = 0; i < fusion.operations.size(); i++) {
      fusion.take(i);
    }
    fusion.changed.forEach(fusion::apply);
    fusion.operations.removeIf(operation -> operation == null);
    return new Subgraph(
        fusion.operands, fusion.operations, graph.inputIndexes(), graph.outputIndexes());
  }

  /** Takes an operation away if the one before it can do what it does. */
  private void take(int place) {
    Operation operation = operations.get(place);
    boolean isFactor = operation.type() == OperationCode.MUL;
    if (!isFactor && operation.type() != OperationCode.ADD
        || !ActivationFusion.isFree(operands, operation)) {
      return;
    }
    for (int i = 0; i < 2; i++) {
      int value = operation.inputs().get(i);
      Integer before = uses.producer(value);
      Operand known = operands.get(operation.inputs().get(1 - i));
      if (before == null
          || !uses.isReadOnce(value)
          || !(known.lifetime() instanceof Constant constant)
          || known.type() != OperandCode.TENSOR_FLOAT32
          || grids.containsKey(constant)) {
        continue;
      }
      int linear = uses.moved(operands, operations, before);
      Channels channels = channels(linear, value, known);
      if (channels == null) {
        continue;
      }
      int count = (int) known.shape().elementCount();
      for (int c = 0; c < channels.sums().length; c++) {
        double number = real(constant.bytes(), c % count);
        if (isFactor) {
          channels.factors()[c] *= number;
          channels.sums()[c] *= number;
        } else {
          channels.sums()[c] += number;
        }
      }
      changed.put(linear, channels);
      Operation last = operations.get(before);
      operations.set(before, new Operation(last.type(), last.inputs(), operation.outputs()));
      operations.set(place, null);
      uses.produce(operation.outputs().getFirst(), before);
      return;
    }
  }

  /**
   * What has become of the channels of a linear operation, as far as it is known; null where the
   * operation is no such one, or the numbers are not one for each of its channels.
   */
  private Channels channels(int place, int value, Operand numbers) {
    Operation linear = operations.get(place);
    int axis = channelAxis(linear);
    if (axis < 0 || !ActivationFusion.isFree(operands, linear)) {
      return null;
    }
    Operand weights = operands.get(linear.inputs().get(WEIGHTS));
    int count = weights.shape().dimension(axis);
    int width = Uses.channels(operands.get(value));
    Shape shape = numbers.shape();
    boolean isOfChannels =
        shape.elementCount() == 1
            || shape.elementCount() == width && Uses.channels(numbers) == width;
    if (!isOfChannels || shape.rank() > operands.get(value).shape().rank()) {
      return null;
    }
    Channels known = changed.get(place);
    if (known != null) {
      return known;
    }
    if (!isKnown(linear.inputs().get(WEIGHTS))
        || !uses.isReadOnce(linear.inputs().get(WEIGHTS))
        || !isKnown(linear.inputs().get(BIAS))
        || isWhole(weights)) {
      return null;
    }
    double[] factors = new double[count];
    Arrays.fill(factors, 1);
    return new Channels(factors, new double[count]);
  }

  /** Returns whether an operand is a constant of floats, and stored as such. */
  private boolean isKnown(int index) {
    Operand operand = operands.get(index);
    return operand.type() == OperandCode.TENSOR_FLOAT32
        && operand.lifetime() instanceof Constant constant
        && !grids.containsKey(constant);
  }

  private static boolean isWhole(Operand weights) {
    MemorySegment bytes = ((Constant) weights.lifetime()).bytes();
    for (long i = 0; i < bytes.byteSize() / Float.BYTES; i++) {
      float weight = real(bytes, i);
      if (weight != Math.rint(weight)) {
        return false;
      }
    }
    return true;
  }

  /** The axis of the channels of the result in the weights, 0 or 3; -1 for other operations. */
  private static int channelAxis(Operation operation) {
    if (!(operation.type() instanceof OperationCode type)) {
      return -1;
    }
    return switch (type) {
      case CONV_2D, GROUPED_CONV_2D, FULLY_CONNECTED -> 0;
      case DEPTHWISE_CONV_2D -> 3;
      default -> -1;
    };
  }

  private void apply(int place, Channels channels) {
    Operation linear = operations.get(place);
    List<Integer> inputs = new ArrayList<>(linear.inputs());
    int count = channels.sums().length;
    // Where nothing is multiplied, the layer goes on with the weights of the file.
    if (Arrays.stream(channels.factors()).anyMatch(factor -> factor != 1)) {
      inputs.set(WEIGHTS, add(operands.get(inputs.get(WEIGHTS)), scaled(linear, channels)));
    }
    Operand bias = operands.get(inputs.get(BIAS));
    MemorySegment sums = MemorySegment.ofArray(new byte[count * Float.BYTES]);
    for (int c = 0; c < count; c++) {
      double sum = real(((Constant) bias.lifetime()).bytes(), c) * channels.factors()[c];
      sums.set(FLOAT, (long) c * Float.BYTES, (float) (sum + channels.sums()[c]));
    }
    inputs.set(BIAS, add(bias, sums));
    operations.set(place, new Operation(linear.type(), inputs, linear.outputs()));
  }

  private MemorySegment scaled(Operation linear, Channels channels) {
    Operand weights = operands.get(linear.inputs().get(WEIGHTS));
    int count = channels.sums().length;
    long size = weights.shape().elementCount();
    long run = channelAxis(linear) == 0 ? size / count : 1;
    MemorySegment from = ((Constant) weights.lifetime()).bytes();
    MemorySegment to = MemorySegment.ofArray(new byte[Math.toIntExact(size * Float.BYTES)]);
    for (long i = 0; i < size; i++) {
      double factor = channels.factors()[(int) (i / run % count)];
      to.set(FLOAT, i * Float.BYTES, (float) (real(from, i) * factor));
    }
    return to;
  }

  private int add(Operand known, MemorySegment bytes) {
    operands.add(
        new Operand(
            known.type(),
            known.shape(),
            Quantization.NONE,
            new Lifetime.ConstantCopy((byte[]) bytes.heapBase().orElseThrow()),
            known.name()));
    return operands.size() - 1;
  }
}
