// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.ScalarKernels;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Job;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/** MEAN over the axes between the batch and the last one, which stand between them all. */
public final class Reduction {
  private Reduction() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(OperationCode.MEAN, Reduction::isPossible, new Mean(), TENSOR_FLOAT32)
        .add(
            OperationCode.MEAN,
            Reduction::isPossible,
            new Mean(),
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED);
  }

  /** Whether exactly the axes 1 and 2 of four are reduced, of few enough elements. */
  private static boolean isPossible(OperationView operation) {
    OperandView input = operation.input(0);
    if (!input.isShapeKnown()
        || input.shape().rank() != 4
        || operation.input(1).value().isEmpty()
        || operation.input(2).value().isEmpty()) {
      return false;
    }
    boolean[] reduced = new boolean[4];
    for (int axis : operation.input(1).int32s()) {
      if (axis < -4 || axis > 3) {
        return false;
      }
      reduced[axis < 0 ? axis + 4 : axis] = true;
    }
    return Arrays.equals(reduced, new boolean[] {false, true, true, false})
        && (long) input.shape().dimension(1) * input.shape().dimension(2) <= StoredPool.MOST_CELLS;
  }

  /** Reads the data only. */
  private record Mean() implements Lowering {
    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      return new MeanStep(tensors.input(node, 0), tensors.output(node));
    }

    @Override
    public boolean reads(ResolvedOperation operation, int input) {
      return input == 0;
    }
  }

  /** A tile is the whole of a batch. */
  private static final class MeanStep implements Step {
    private final Tensor input;
    private final Tensor output;
    private final int cells;
    private final int channels;

    MeanStep(Tensor input, Tensor output) {
      this.input = input;
      this.output = output;
      Shape shape = input.shape();
      cells = shape.dimension(1) * shape.dimension(2);
      channels = shape.dimension(3);
    }

    @Override
    public int tiles() {
      return Math.min(Job.MAX_TILES, input.dimension(0));
    }

    @Override
    public int scratchInts() {
      return Lanes.roundUp(channels);
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      for (int batch = tile; batch < input.dimension(0); batch += tiles()) {
        int from = input.offset() + batch * cells * channels;
        int to = output.offset() + batch * channels;
        if (input.isFloat()) {
          floats(frame.isScalar, frame.floats, from, to, scratch.spareFloats);
        } else {
          bytes(frame.isScalar, frame.bytes, from, to, scratch.ints);
        }
      }
    }

    private void floats(boolean isScalar, float[] floats, int from, int to, float[] spare) {
      if (isScalar) {
        ScalarKernels.pool(
            false, floats, from, channels * cells, channels, 1, cells, to, Clamp.NONE);
        return;
      }
      for (int channel = 0; channel < channels; channel += COUNT) {
        FloatVector sum = FloatVector.zero(FLOATS);
        for (int cell = 0; cell < cells; cell++) {
          sum = sum.add(FloatVector.fromArray(FLOATS, floats, from + cell * channels + channel));
        }
        sum.div((float) cells).intoArray(spare, 0);
        System.arraycopy(spare, 0, floats, to + channel, Math.min(COUNT, channels - channel));
      }
    }

    /** Rounded to nearest, ties away from the zero point. */
    private void bytes(boolean isScalar, byte[] bytes, int from, int to, int[] sums) {
      int flip = input.flip();
      int zeroPoint = input.signedZeroPoint();
      for (int channel = 0; !isScalar && channel < channels; channel += COUNT) {
        IntVector sum = IntVector.zero(INTS);
        for (int cell = 0; cell < cells; cell++) {
          sum = sum.add(Lanes.toInts(bytes, from + cell * channels + channel, flip));
        }
        sum.intoArray(sums, channel);
      }
      for (int channel = 0; isScalar && channel < channels; channel++) {
        sums[channel] = 0;
        for (int cell = 0; cell < cells; cell++) {
          sums[channel] += (byte) (bytes[from + cell * channels + channel] ^ flip);
        }
      }
      for (int channel = 0; channel < channels; channel++) {
        int sum = sums[channel] - zeroPoint * cells;
        int rounded = (sum >= 0 ? sum + cells / 2 : sum - cells / 2) / cells;
        bytes[to + channel] = (byte) (rounded + output.view().zeroPoint());
      }
    }
  }
}
