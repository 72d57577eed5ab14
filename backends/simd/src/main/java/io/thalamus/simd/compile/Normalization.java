// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FixedPointFunctions;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Normalization.Norm;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.extension.Normalization.Groups;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;

/**
 * Values brought to mean 0 and variance 1, LAYER_NORMALIZATION, or to length 1, L2_NORMALIZATION.
 */
public final class Normalization {
  /** A smaller norm is taken for this one. */
  private static final double LEAST_NORM = 1e-6f;

  private Normalization() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    LocalResponse.register(table);
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
    Lowering lengths =
        (node, tensors, budget) ->
            new Lengths(
                ReducedCells.of(
                        node.operation().inputShape(0),
                        new int[] {node.operation().parameters(Norm.class).axis()})
                    .orElseThrow(),
                tensors.input(node, 0),
                tensors.output(node),
                budget);
    table
        .add(OperationCode.L2_NORMALIZATION, Normalization::isLength, lengths, TENSOR_FLOAT32)
        .add(
            OperationCode.L2_NORMALIZATION,
            Normalization::isLength,
            lengths,
            ElementTypes.quantized8());
  }

  private static boolean isLength(OperationView operation) {
    return operation.input(0).isShapeKnown()
        && operation.input(0).shape().elementCount() > 0
        && operation.hasValues(1)
        && StaticGraph.parameters(operation, Norm.class)
            .flatMap(norm -> ReducedCells.of(operation.input(0).shape(), new int[] {norm.axis()}))
            .isPresent();
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

  /** Some lines are a tile; their elements are apart where the axis is not the last one. */
  private static final class Lengths extends UnitStep {
    private final ReducedCells cells;
    private final Tensor input;
    private final Tensor output;
    private final IntRange range;

    Lengths(ReducedCells cells, Tensor input, Tensor output, Budget budget) {
      super(cells.outer() * cells.inner(), budget.tiles(2L * input.size()));
      this.cells = cells;
      this.input = input;
      this.output = output;
      range = input.isFloat() ? null : IntRange.of((OperandCode) input.view().type());
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      int inner = cells.inner();
      for (int line = first; line < end; line++) {
        int at = line / inner * cells.reduced() * inner + line % inner;
        if (input.isFloat()) {
          floats(frame.floats(input), input.offset() + at, frame.floats(output), at);
        } else {
          bytes(frame.bytes(input), input.offset() + at, frame.bytes(output), at);
        }
      }
    }

    private void floats(float[] in, int from, float[] out, int at) {
      int step = cells.inner();
      int last = (cells.reduced() - 1) * step;
      double sum = 0;
      if (step == 1) {
        sum = squares(in, from, cells.reduced(), 0);
      } else {
        for (int i = 0; i <= last; i += step) {
          sum += (double) in[from + i] * in[from + i];
        }
      }
      float norm = (float) Math.max(Math.sqrt(sum), LEAST_NORM);
      int to = output.offset() + at;
      for (int i = 0; i <= last; i += step) {
        out[to + i] = in[from + i] / norm;
      }
    }

    /** Results have scale 1/128, hence the factor. */
    private void bytes(byte[] in, int from, byte[] out, int at) {
      int flip = input.flip();
      int zeroPoint = input.signedZeroPoint();
      int last = (cells.reduced() - 1) * cells.inner();
      int sum = 0;
      for (int i = 0; i <= last; i += cells.inner()) {
        int value = (byte) (in[from + i] ^ flip) - zeroPoint;
        sum += value * value;
      }
      Requantization byNorm = FixedPointFunctions.inverseSquareRoot(sum);
      int to = output.offset() + at;
      for (int i = 0; i <= last; i += cells.inner()) {
        int value = (byte) (in[from + i] ^ flip) - zeroPoint;
        out[to + i] = (byte) range.clamp(byNorm.apply(value * 128) + output.view().zeroPoint());
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
