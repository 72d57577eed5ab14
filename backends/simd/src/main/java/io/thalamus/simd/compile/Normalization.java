// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.Normalization.Groups;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;

/** Values brought to mean 0 and variance 1: LAYER_NORMALIZATION. */
public final class Normalization {
  private Normalization() {}

  /** Adds the operation to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.LAYER_NORMALIZATION,
        Normalization::isPossible,
        (node, tensors, budget) ->
            new Layer(
                node.operation().parameters(Groups.class),
                tensors.input(node, 0),
                tensors.input(node, 1),
                node.operation().view().has(2) ? tensors.input(node, 2) : null,
                tensors.output(node),
                budget),
        TENSOR_FLOAT32);
  }

  /**
   * Returns true if the factors are one number, or those of a group. A bias that is no constant may
   * be left out by an execution.
   */
  private static boolean isPossible(OperationView operation) {
    if (!operation.input(0).isShapeKnown()
        || operation.input(3).value().isEmpty()
        || operation.input(4).value().isEmpty()) {
      return false;
    }
    Shape data = operation.input(0).shape();
    int axis = operation.input(3).int32();
    int first = axis < 0 ? axis + data.rank() : axis;
    return first >= 0
        && first < data.rank()
        && isOfGroup(data, first, operation, 1)
        && (!operation.has(2)
            || operation.input(2).value().isPresent() && isOfGroup(data, first, operation, 2));
  }

  private static boolean isOfGroup(Shape data, int first, OperationView operation, int input) {
    if (!operation.input(input).isShapeKnown()) {
      return false;
    }
    Shape factor = operation.input(input).shape();
    if (factor.elementCount() == 1) {
      return true;
    }
    for (int i = 1; i <= Math.max(factor.rank(), data.rank() - first); i++) {
      int size = i <= factor.rank() ? factor.dimension(factor.rank() - i) : 1;
      int wanted = i <= data.rank() - first ? data.dimension(data.rank() - i) : 1;
      if (size != wanted) {
        return false;
      }
    }
    return true;
  }

  /** Some groups are a tile. Sums are double, and four of each, in a fixed order. */
  private static final class Layer extends UnitStep {
    private final Groups groups;
    private final Tensor input;
    private final Tensor scale;

    /** Null where there is none. */
    private final Tensor bias;

    private final Tensor output;

    Layer(Groups groups, Tensor input, Tensor scale, Tensor bias, Tensor output, Budget budget) {
      super(groups.groups(), budget.tiles(8L * input.size()));
      this.groups = groups;
      this.input = input;
      this.scale = scale;
      this.bias = bias;
      this.output = output;
    }

    /** The scale and the bias by element of a group. */
    @Override
    public int scratchFloats() {
      return 2 * groups.groupSize();
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      int size = groups.groupSize();
      float[] factors = scratch.floats;
      spread(frame, scale, factors, 0, size);
      spread(frame, bias, factors, size, size);
      float[] in = frame.floats(input);
      float[] out = frame.floats(output);
      for (int group = first; group < end; group++) {
        int at = group * size;
        int to = output.offset() + at;
        normalize(in, input.offset() + at, groups.epsilon(), factors, out, to, size);
      }
    }

    private static void spread(Frame frame, Tensor tensor, float[] to, int at, int size) {
      for (int i = 0; tensor == null && i < size; i++) {
        to[at + i] = 0;
      }
      for (int i = 0; tensor != null && i < size; i++) {
        to[at + i] = frame.floats(tensor)[tensor.offset() + (tensor.size() == 1 ? 0 : i)];
      }
    }
  }

  /**
   * Brings a group to mean 0 and variance 1, times factors, plus biases, which stand behind those.
   */
  static void normalize(
      float[] in, int from, double epsilon, float[] factors, float[] out, int to, int count) {
    double mean = sum(in, from, count) / count;
    double variance = squares(in, from, count, mean) / count;
    double factor = 1 / Math.sqrt(variance + epsilon);
    apply(in, from, mean, factor, factors, out, to, count);
  }

  private static double sum(float[] in, int from, int count) {
    double sum0 = 0;
    double sum1 = 0;
    double sum2 = 0;
    double sum3 = 0;
    int i = 0;
    for (; i <= count - 4; i += 4) {
      sum0 += in[from + i];
      sum1 += in[from + i + 1];
      sum2 += in[from + i + 2];
      sum3 += in[from + i + 3];
    }
    for (; i < count; i++) {
      sum0 += in[from + i];
    }
    return sum0 + sum1 + (sum2 + sum3);
  }

  private static double squares(float[] in, int from, int count, double mean) {
    double sum0 = 0;
    double sum1 = 0;
    double sum2 = 0;
    double sum3 = 0;
    int i = 0;
    for (; i <= count - 4; i += 4) {
      double distance0 = in[from + i] - mean;
      double distance1 = in[from + i + 1] - mean;
      double distance2 = in[from + i + 2] - mean;
      double distance3 = in[from + i + 3] - mean;
      sum0 += distance0 * distance0;
      sum1 += distance1 * distance1;
      sum2 += distance2 * distance2;
      sum3 += distance3 * distance3;
    }
    for (; i < count; i++) {
      double distance = in[from + i] - mean;
      sum0 += distance * distance;
    }
    return sum0 + sum1 + (sum2 + sum3);
  }

  private static void apply(
      float[] in,
      int from,
      double mean,
      double factor,
      float[] factors,
      float[] out,
      int to,
      int count) {
    for (int i = 0; i < count; i++) {
      double value = (in[from + i] - mean) * factor;
      out[to + i] = (float) (value * factors[i] + factors[count + i]);
    }
  }
}
