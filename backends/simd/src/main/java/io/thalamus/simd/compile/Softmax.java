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
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.kernel.Functions;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;

/** Scores made into probabilities along an axis, and the logarithms of these. */
public final class Softmax {
  private Softmax() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.SOFTMAX,
            Softmax::isPossible,
            (node, tensors, budget) ->
                floating(
                    node.operation().parameters(Parameters.class),
                    tensors.input(node, 0),
                    tensors.output(node),
                    budget),
            TENSOR_FLOAT32)
        .add(
            OperationCode.SOFTMAX,
            Softmax::isPossible,
            (node, tensors, budget) ->
                new OnBytes(
                    node.operation().parameters(Parameters.class),
                    tensors.input(node, 0),
                    tensors.output(node),
                    budget),
            ElementTypes.quantized8())
        .add(
            OperationCode.LOG_SOFTMAX,
            Softmax::isPossible,
            (node, tensors, budget) ->
                new Logarithms(
                    node.operation().parameters(Parameters.class),
                    tensors.input(node, 0),
                    tensors.output(node),
                    budget),
            TENSOR_FLOAT32);
  }

  private static Step floating(Parameters parameters, Tensor input, Tensor output, Budget budget) {
    return new Plane(parameters, input).inner() == 1
        ? new Floating(parameters, input, output, budget)
        : new Across(parameters, input, output, budget);
  }

  /**
   * The scores by what becomes of their dimensions.
   *
   * @param size along the axis
   */
  private record Plane(int outer, int size, int inner) {
    Plane(Parameters parameters, Tensor scores) {
      this(
          product(scores, 0, parameters.axis()),
          scores.dimension(parameters.axis()),
          product(scores, parameters.axis() + 1, scores.shape().rank()));
    }

    private static int product(Tensor scores, int first, int end) {
      int product = 1;
      for (int i = first; i < end; i++) {
        product *= scores.dimension(i);
      }
      return product;
    }
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown()
        && operation.input(0).shape().elementCount() > 0
        && operation.hasValues(1);
  }

  /** Lines of scores, some of which are a tile. */
  private abstract static class Lines extends UnitStep {
    final Tensor input;
    final Tensor output;
    final int size;

    /** Elements from one of a line to the next. */
    final int inner;

    Lines(Parameters parameters, Tensor input, Tensor output, Budget budget) {
      Plane plane = new Plane(parameters, input);
      super(plane.outer() * plane.inner(), budget.tiles(16L * input.size()));
      this.input = input;
      this.output = output;
      size = plane.size();
      inner = plane.inner();
    }

    @Override
    final void run(Frame frame, Scratch scratch, int first, int end) {
      for (int line = first; line < end; line++) {
        int at = line / inner * size * inner + line % inner;
        line(frame, scratch, input.offset() + at, output.offset() + at);
      }
    }

    abstract void line(Frame frame, Scratch scratch, int from, int to);
  }

  private static final class Floating extends Lines {
    private final float beta;

    Floating(Parameters parameters, Tensor input, Tensor output, Budget budget) {
      super(parameters, input, output, budget);
      beta = parameters.beta();
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

  /** Lines whose elements do not stand beside each other: many lines at a time. */
  private static final class Across extends UnitStep {
    /** Lines that are computed together at most. */
    private static final int MOST = 512;

    private final float beta;
    private final Plane plane;
    private final Tensor input;
    private final Tensor output;
    private final int parts;

    Across(Parameters parameters, Tensor input, Tensor output, Budget budget) {
      Plane plane = new Plane(parameters, input);
      int parts = Math.ceilDiv(plane.inner(), MOST);
      super(plane.outer() * parts, budget.tiles(16L * input.size()));
      beta = parameters.beta();
      this.plane = plane;
      this.input = input;
      this.output = output;
      this.parts = parts;
    }

    /** The largest scores, and the sums. */
    @Override
    public int scratchFloats() {
      return 2 * MOST;
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      for (int i = first; i < end; i++) {
        int line = i % parts * MOST;
        int at = i / parts * plane.size() * plane.inner() + line;
        lines(
            frame,
            scratch,
            input.offset() + at,
            output.offset() + at,
            Math.min(MOST, plane.inner() - line));
      }
    }

    private void lines(Frame frame, Scratch scratch, int from, int to, int count) {
      float[] in = frame.floats(input);
      float[] out = frame.floats(output);
      float[] some = scratch.floats;
      Arrays.fill(some, 0, count, Float.NEGATIVE_INFINITY);
      Arrays.fill(some, MOST, MOST + count, 0);
      for (int k = 0; k < plane.size(); k++) {
        larger(some, in, from + k * plane.inner(), count);
      }
      for (int k = 0; k < plane.size(); k++) {
        int at = to + k * plane.inner();
        scale(in, from + k * plane.inner(), some, out, at, count);
        Functions.apply(
            Functions.Kind.EXP, Clamp.NONE, out, at, out, at, count, scratch.spareFloats);
        add(some, out, at, count);
      }
      for (int k = 0; k < plane.size(); k++) {
        divide(out, to + k * plane.inner(), some, count);
      }
    }

    private static void larger(float[] some, float[] in, int from, int count) {
      for (int i = 0; i < count; i++) {
        some[i] = Math.max(some[i], in[from + i]);
      }
    }

    private void scale(float[] in, int from, float[] some, float[] out, int to, int count) {
      for (int i = 0; i < count; i++) {
        out[to + i] = (in[from + i] - some[i]) * beta;
      }
    }

    private static void add(float[] some, float[] out, int at, int count) {
      for (int i = 0; i < count; i++) {
        some[MOST + i] += out[at + i];
      }
    }

    private static void divide(float[] out, int at, float[] some, int count) {
      for (int i = 0; i < count; i++) {
        out[at + i] /= some[MOST + i];
      }
    }
  }

  /** Logarithms of probabilities, in double. */
  private static final class Logarithms extends Lines {
    private final float beta;

    Logarithms(Parameters parameters, Tensor input, Tensor output, Budget budget) {
      super(parameters, input, output, budget);
      beta = parameters.beta();
    }

    @Override
    void line(Frame frame, Scratch scratch, int from, int to) {
      float[] in = frame.floats(input);
      float[] out = frame.floats(output);
      float max = Float.NEGATIVE_INFINITY;
      for (int i = 0; i < size; i++) {
        max = Math.max(max, in[from + i * inner]);
      }
      double sum = 0;
      for (int i = 0; i < size; i++) {
        sum += Math.exp((in[from + i * inner] - max) * beta);
      }
      double logarithm = Math.log(sum);
      for (int i = 0; i < size; i++) {
        double scaled = (in[from + i * inner] - max) * beta;
        out[to + i * inner] = (float) (scaled - logarithm);
      }
    }
  }

  /** As the reference does it, but for exponentials that are looked up. */
  private static final class OnBytes extends Lines {
    /** By difference from the largest score, which is not negative here; 0 where too large. */
    private final int[] powers = new int[256];

    /** What the powers add to the sum. */
    private final int[] terms = new int[256];

    OnBytes(Parameters parameters, Tensor input, Tensor output, Budget budget) {
      super(parameters, input, output, budget);
      StoredScores scores = parameters.quantized().orElseThrow();
      for (int i = 0; i < powers.length; i++) {
        powers[i] = scores.exponential(-i);
        terms[i] = StoredScores.term(powers[i]);
      }
    }

    @Override
    public int scratchInts() {
      return size;
    }

    @Override
    void line(Frame frame, Scratch scratch, int from, int to) {
      byte[] in = frame.bytes(input);
      byte[] out = frame.bytes(output);
      int[] probabilities = scratch.ints;
      int flip = input.flip();
      int max = Byte.MIN_VALUE;
      for (int i = 0; i < size; i++) {
        max = Math.max(max, (byte) (in[from + i * inner] ^ flip));
      }
      long sum = 0;
      for (int i = 0; i < size; i++) {
        int difference = max - (byte) (in[from + i * inner] ^ flip);
        sum += terms[difference];
        probabilities[i] = powers[difference];
      }
      int reciprocal = StoredScores.reciprocal(sum);
      int shift = StoredScores.shift(sum);
      if (shift < Integer.SIZE) {
        Factor.twice(reciprocal, -shift, probabilities, 0, size);
      } else {
        Arrays.fill(probabilities, 0, size, 0);
      }
      int resultFlip = output.flip();
      for (int i = 0; i < size; i++) {
        // Results are counted from the least stored value.
        int signed = Math.min(probabilities[i] + Byte.MIN_VALUE, Byte.MAX_VALUE);
        out[to + i * inner] = (byte) (signed ^ resultFlip);
      }
    }
  }
}
