// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Softmax.Parameters;
import io.thalamus.operations.Softmax.StoredScores;
import io.thalamus.simd.kernel.Functions;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import jdk.incubator.vector.FloatVector;

/** Scores made into probabilities along the last axis. */
public final class Softmax {
  private Softmax() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.SOFTMAX,
            Softmax::isPossible,
            (node, tensors, budget) ->
                new Floating(
                    node.operation().parameters(Parameters.class).beta(),
                    tensors.input(node, 0),
                    tensors.output(node),
                    budget),
            TENSOR_FLOAT32)
        .add(
            OperationCode.SOFTMAX,
            Softmax::isPossible,
            (node, tensors, budget) ->
                new OnBytes(
                    node.operation().parameters(Parameters.class).quantized().orElseThrow(),
                    tensors.input(node, 0),
                    tensors.output(node),
                    budget),
            ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    if (!operation.input(0).isShapeKnown() || operation.input(1).value().isEmpty()) {
      return false;
    }
    int axis = operation.inputs().size() < 3 ? -1 : axis(operation);
    return axis == -1 || axis == operation.input(0).shape().rank() - 1;
  }

  private static int axis(OperationView operation) {
    return operation.input(2).value().isPresent() ? operation.input(2).int32() : -2;
  }

  /** Lines of scores, some of which are a tile. */
  private abstract static class Lines implements Step {
    final Tensor input;
    final Tensor output;
    final int size;
    private final int lines;
    private final int tiles;

    Lines(Tensor input, Tensor output, Budget budget) {
      this.input = input;
      this.output = output;
      size = input.dimension(input.shape().rank() - 1);
      lines = input.size() / size;
      tiles = Math.min(lines, budget.tiles(16L * input.size()));
    }

    @Override
    public final int tiles() {
      return tiles;
    }

    @Override
    public final void run(Frame frame, Scratch scratch, int tile) {
      int first = (int) ((long) lines * tile / tiles);
      int end = (int) ((long) lines * (tile + 1) / tiles);
      for (int line = first; line < end; line++) {
        line(frame, scratch, input.offset() + line * size, output.offset() + line * size);
      }
    }

    abstract void line(Frame frame, Scratch scratch, int from, int to);
  }

  private static final class Floating extends Lines {
    private final float beta;

    Floating(float beta, Tensor input, Tensor output, Budget budget) {
      super(input, output, budget);
      this.beta = beta;
    }

    /** Exponentials of a line. */
    @Override
    public int scratchFloats() {
      return Lanes.roundUp(size);
    }

    @Override
    void line(Frame frame, Scratch scratch, int from, int to) {
      float[] in = frame.floats(input);
      float[] out = frame.floats(output);
      float max = Float.NEGATIVE_INFINITY;
      for (int i = 0; i < size; i++) {
        max = Math.max(max, in[from + i]);
      }
      float[] powers = scratch.floats;
      for (int i = 0; i < size; i += COUNT) {
        Functions.exp(FloatVector.fromArray(FLOATS, in, from + i).sub(max).mul(beta))
            .intoArray(powers, Lanes.LEAD + i);
      }
      // One after the other: the sum must not depend on the width of a vector.
      float sum = 0;
      for (int i = 0; i < size; i++) {
        sum += powers[Lanes.LEAD + i];
      }
      for (int i = 0; i < size; i++) {
        out[to + i] = powers[Lanes.LEAD + i] / sum;
      }
    }
  }

  /** As the reference does it, but for exponentials that are looked up. */
  private static final class OnBytes extends Lines {
    /** By difference from the largest score, which is not negative here; 0 where too large. */
    private final int[] powers = new int[256];

    OnBytes(StoredScores scores, Tensor input, Tensor output, Budget budget) {
      super(input, output, budget);
      for (int i = 0; i < powers.length; i++) {
        powers[i] = scores.exponential(-i);
      }
    }

    @Override
    void line(Frame frame, Scratch scratch, int from, int to) {
      byte[] in = frame.bytes(input);
      byte[] out = frame.bytes(output);
      int flip = input.flip();
      int max = Byte.MIN_VALUE;
      for (int i = 0; i < size; i++) {
        max = Math.max(max, (byte) (in[from + i] ^ flip));
      }
      long sum = 0;
      for (int i = 0; i < size; i++) {
        sum += StoredScores.term(powers[max - (byte) (in[from + i] ^ flip)]);
      }
      int reciprocal = StoredScores.reciprocal(sum);
      int shift = StoredScores.shift(sum);
      int resultFlip = output.flip();
      for (int i = 0; i < size; i++) {
        int power = powers[max - (byte) (in[from + i] ^ flip)];
        int probability = StoredScores.probability(power, reciprocal, shift);
        // Results are counted from the least stored value.
        int signed = Math.min(probability + Byte.MIN_VALUE, Byte.MAX_VALUE);
        out[to + i] = (byte) (signed ^ resultFlip);
      }
    }
  }
}
