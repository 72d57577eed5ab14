// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.simd.kernel.Lanes.BYTES;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Reduction.Parameters;
import io.thalamus.operations.StridedCopy;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;
import java.util.List;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/** One element of all elements along some axes: MEAN, REDUCE_SUM, REDUCE_MAX and their like. */
public final class Reduction {
  /** Floats between two steps, which one thread computes. */
  private static final int MOST_BETWEEN = 1 << 20;

  private Reduction() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.MEAN,
        Reduction::isMeanPossible,
        (Lowering.OfFirst) Reduction::mean,
        ElementTypes.quantized8());
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.MEAN,
          OperationCode.REDUCE_SUM,
          OperationCode.REDUCE_PROD,
          OperationCode.REDUCE_MAX,
          OperationCode.REDUCE_MIN
        }) {
      table.add(code, Reduction::isPossible, floats(code), TENSOR_FLOAT32);
    }
    for (OperationCode code :
        new OperationCode[] {OperationCode.REDUCE_MAX, OperationCode.REDUCE_MIN}) {
      table.add(code, Reduction::isPossible, bytes(code), ElementTypes.quantized8());
    }
    for (OperationCode code :
        new OperationCode[] {OperationCode.REDUCE_ANY, OperationCode.REDUCE_ALL}) {
      table.add(code, Reduction::isPossible, bytes(code), TENSOR_BOOL8);
    }
  }

  private static boolean isPossible(OperationView operation) {
    OperandView input = operation.input(0);
    if (!input.isShapeKnown() || input.shape().elementCount() == 0 || !operation.hasValues(1)) {
      return false;
    }
    List<ReducedCells> steps = ReducedCells.steps(input.shape(), operation.input(1).int32s());
    return steps.size() == 1
        || steps.size() > 1 && steps.get(0).outer() * steps.get(0).inner() <= MOST_BETWEEN;
  }

  /** Floats in several steps, or in one. */
  private static Lowering.OfFirst floats(OperationCode code) {
    return (node, tensors, budget) -> {
      Tensor input = tensors.input(node, 0);
      List<ReducedCells> steps =
          ReducedCells.steps(input.shape(), node.operation().view().input(1).int32s());
      return new ReducedFloats(code, steps, input, tensors.output(node), budget);
    };
  }

  /** Stored bytes or truth values. */
  private static Lowering.OfFirst bytes(OperationCode code) {
    return (node, tensors, budget) ->
        new ReducedBytes(
            code,
            node.operation().parameters(Parameters.class),
            tensors.input(node, 0),
            tensors.output(node));
  }

  /** The extremes of stored bytes, which truth values have too: one run after the other. */
  private record ReducedBytes(
      OperationCode code, Parameters parameters, Tensor input, Tensor output) implements Step {
    @Override
    public int tiles() {
      return 1;
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      byte[] in = frame.bytes(input);
      byte[] out = frame.bytes(output);
      boolean isLargest = code == OperationCode.REDUCE_MAX || code == OperationCode.REDUCE_ANY;
      boolean isTruth = code == OperationCode.REDUCE_ANY || code == OperationCode.REDUCE_ALL;
      int flip = isLargest ? input.flip() : ~input.flip();
      int to = output.offset();
      StridedCopy walk = parameters.walk();
      int fromStride = (int) walk.runSourceStride();
      int toStride = (int) walk.runTargetStride();
      Arrays.fill(out, to, to + output.size(), (byte) (Byte.MIN_VALUE ^ flip));
      walk.forEachRun(
          (source, target) -> {
            for (int i = 0; i < walk.runLength(); i++) {
              byte stored = in[input.offset() + (int) source + i * fromStride];
              int at = to + (int) target + i * toStride;
              int value = isTruth ? (stored == 0 ? 0 : 1) : stored;
              int best = Math.max((byte) (out[at] ^ flip), (byte) (value ^ flip));
              out[at] = (byte) (best ^ flip);
            }
          });
    }
  }

  private static boolean isMeanPossible(OperationView operation) {
    OperandView input = operation.input(0);
    return input.isShapeKnown()
        && operation.hasValues(1)
        && ReducedCells.of(input.shape(), operation.input(1).int32s())
            .filter(cells -> cells.reduced() <= StoredPool.MOST_CELLS)
            .isPresent();
  }

  private static Step mean(Node node, Tensors tensors, Budget budget) {
    Tensor input = tensors.input(node, 0);
    ReducedCells cells =
        ReducedCells.of(input.shape(), node.operation().view().input(1).int32s()).orElseThrow();
    return new MeanStep(input, tensors.output(node), cells, budget);
  }

  /** Some of the outer elements are a tile. */
  private static final class MeanStep extends UnitStep {
    private final Tensor input;
    private final Tensor output;
    private final int cells;
    private final int channels;

    MeanStep(Tensor input, Tensor output, ReducedCells cells, Budget budget) {
      super(cells.outer(), budget.tiles(input.size()));
      this.input = input;
      this.output = output;
      this.cells = cells.reduced();
      this.channels = cells.inner();
    }

    @Override
    public int scratchInts() {
      return Lanes.roundUp(channels);
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      for (int i = first; i < end; i++) {
        int from = input.offset() + i * cells * channels;
        int to = output.offset() + i * channels;
        bytes(frame.isScalar, frame.bytes(input), from, frame.bytes(output), to, scratch.ints);
      }
    }

    /** Rounded to nearest, ties away from the zero point. */
    private void bytes(boolean isScalar, byte[] in, int from, byte[] out, int to, int[] sums) {
      int flip = input.flip();
      int zeroPoint = input.signedZeroPoint();
      boolean byVectors = BYTES != null && !isScalar && channels >= COUNT / 2;
      for (int channel = 0; byVectors && channel < channels; channel += COUNT) {
        IntVector sum = IntVector.zero(INTS);
        for (int cell = 0; cell < cells; cell++) {
          sum =
              sum.add(
                  ByteVector.fromArray(BYTES, in, from + cell * channels + channel)
                      .lanewise(VectorOperators.XOR, (byte) flip)
                      .convertShape(VectorOperators.B2I, INTS, 0));
        }
        sum.intoArray(sums, channel);
      }
      for (int channel = 0; !byVectors && channel < channels; channel++) {
        sums[channel] = 0;
        for (int cell = 0; cell < cells; cell++) {
          sums[channel] += (byte) (in[from + cell * channels + channel] ^ flip);
        }
      }
      for (int channel = 0; channel < channels; channel++) {
        int sum = sums[channel] - zeroPoint * cells;
        int rounded = (sum >= 0 ? sum + cells / 2 : sum - cells / 2) / cells;
        out[to + channel] = (byte) (rounded + output.view().zeroPoint());
      }
    }
  }
}
