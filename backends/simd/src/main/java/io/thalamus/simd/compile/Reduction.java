// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.ScalarKernels;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/** MEAN over axes that stand side by side. */
public final class Reduction {
  private Reduction() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(OperationCode.MEAN, Reduction::isPossible, new Mean(), TENSOR_FLOAT32)
        .add(OperationCode.MEAN, Reduction::isPossible, new Mean(), ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    OperandView input = operation.input(0);
    return input.isShapeKnown()
        && operation.input(1).value().isPresent()
        && operation.input(2).value().isPresent()
        && ReducedCells.of(input.shape(), operation.input(1).int32s())
            .filter(cells -> cells.reduced() <= StoredPool.MOST_CELLS)
            .isPresent();
  }

  /** Reads the data only. */
  private record Mean() implements Lowering {
    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      Tensor input = tensors.input(node, 0);
      ReducedCells cells =
          ReducedCells.of(input.shape(), node.operation().view().input(1).int32s()).orElseThrow();
      return new MeanStep(input, tensors.output(node), cells, budget);
    }

    @Override
    public boolean reads(ResolvedOperation operation, int input) {
      return input == 0;
    }
  }

  /** Some of the outer elements are a tile. */
  private static final class MeanStep implements Step {
    private final Tensor input;
    private final Tensor output;
    private final int outer;
    private final int cells;
    private final int channels;
    private final int tiles;

    MeanStep(Tensor input, Tensor output, ReducedCells cells, Budget budget) {
      this.input = input;
      this.output = output;
      this.outer = cells.outer();
      this.cells = cells.reduced();
      this.channels = cells.inner();
      this.tiles = Math.clamp(outer, 1, budget.tiles(input.size()));
    }

    @Override
    public int tiles() {
      return tiles;
    }

    @Override
    public int scratchInts() {
      return Lanes.roundUp(channels);
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      int end = (int) ((long) outer * (tile + 1) / tiles);
      for (int i = (int) ((long) outer * tile / tiles); i < end; i++) {
        int from = input.offset() + i * cells * channels;
        int to = output.offset() + i * channels;
        if (input.isFloat()) {
          floats(
              frame.isScalar,
              frame.floats(input),
              from,
              frame.floats(output),
              to,
              scratch.spareFloats);
        } else {
          bytes(frame.isScalar, frame.bytes(input), from, frame.bytes(output), to, scratch.ints);
        }
      }
    }

    private void floats(
        boolean isScalar, float[] in, int from, float[] out, int to, float[] spare) {
      // Vectors would sum neighbours that nobody asked for.
      if (isScalar || channels < COUNT / 2) {
        ScalarKernels.pool(
            false, in, from, channels * cells, channels, 1, cells, out, to, Clamp.NONE);
        return;
      }
      for (int channel = 0; channel < channels; channel += COUNT) {
        FloatVector sum = FloatVector.zero(FLOATS);
        for (int cell = 0; cell < cells; cell++) {
          sum = sum.add(FloatVector.fromArray(FLOATS, in, from + cell * channels + channel));
        }
        sum.div((float) cells).intoArray(spare, 0);
        System.arraycopy(spare, 0, out, to + channel, Math.min(COUNT, channels - channel));
      }
    }

    /** Rounded to nearest, ties away from the zero point. */
    private void bytes(boolean isScalar, byte[] in, int from, byte[] out, int to, int[] sums) {
      int flip = input.flip();
      int zeroPoint = input.signedZeroPoint();
      boolean byVectors = !isScalar && channels >= COUNT / 2;
      for (int channel = 0; byVectors && channel < channels; channel += COUNT) {
        IntVector sum = IntVector.zero(INTS);
        for (int cell = 0; cell < cells; cell++) {
          sum = sum.add(Lanes.toInts(in, from + cell * channels + channel, flip));
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
