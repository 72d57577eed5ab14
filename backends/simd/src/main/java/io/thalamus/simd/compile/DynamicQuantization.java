// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.operations.extension.DynamicQuantization.STEPS;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.DynamicQuantization.Found;
import io.thalamus.operations.extension.DynamicQuantization.IntegerProduct;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.compile.PackedWeights.Weights;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.Optional;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/** Layers whose activations are quantized while they run. */
public final class DynamicQuantization {
  /** The least work for an element: a tile looks at all of them, and divides its own. */
  private static final int WORK = 8;

  private DynamicQuantization() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR,
            operation -> operation.input(0).isShapeKnown(),
            DynamicQuantization::quantize,
            OperandCode.TENSOR_FLOAT32)
        .add(
            ThalamusExtension.MATMUL_INTEGER,
            DynamicQuantization::isProductPossible,
            (Lowering.OfFirst) DynamicQuantization::multiply,
            ElementTypes.quantized8());
  }

  private static Step quantize(Node node, Tensors tensors, Budget budget) {
    Tensor input = tensors.input(node, 0);
    return new ToFoundBytes(
        input,
        tensors.output(node),
        tensors.get(node.outputs().get(1)),
        tensors.get(node.outputs().get(2)),
        Math.min(budget.tiles((long) WORK * input.size()), ToFoundBytes.MOST_TILES));
  }

  private static boolean isProductPossible(OperationView operation) {
    return operation.input(0).isShapeKnown()
        && operation.input(0).shape().elementCount() > 0
        && operation.input(1).isShapeKnown()
        && operation.input(1).shape().elementCount() > 0
        && operation.hasValues(1);
  }

  private static Step multiply(Node node, Tensors tensors, Budget budget) {
    IntegerProduct product = node.operation().parameters(IntegerProduct.class);
    int units = product.units();
    Patches patches =
        MatrixMultiply.rows(tensors.input(node, 0), product.rows(), product.inputSize());
    Weights weights =
        Products.integers(node, tensors, patches, units, product.weightsZeroPoint(), units, 1);
    return new QuantizedProduct(
        patches,
        Product.ofIntegers(weights.matrix(), patches.rows()),
        Optional.empty(),
        tensors.output(node),
        weights.parts(),
        budget);
  }

  /** Floats made bytes by a scale and a zero point that each tile finds for itself. */
  private record ToFoundBytes(
      Tensor input, Tensor output, Tensor scale, Tensor zeroPoint, int tiles) implements Step {
    /** More would look at all floats more often than that is worth. */
    static final int MOST_TILES = 4;

    /** Floats from one checkpoint to the next. */
    private static final int CHUNK = 1 << 16;

    /**
     * A number whose sum with a float has the nearest whole number in the low bits. Divided floats
     * are some hundreds at most.
     */
    private static final float ROUNDER = 3 << 22;

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      float[] in = frame.floats(input);
      int from = input.offset();
      int count = input.size();
      float[] bounds = scratch.spareFloats;
      bounds[0] = 0;
      bounds[1] = 0;
      for (int i = 0; i < count; i += CHUNK) {
        if (frame.isOver(scratch)) {
          return;
        }
        widen(frame.isScalar, bounds, in, from + i, Math.min(CHUNK, count - i));
      }
      Found found = Found.of(bounds[0], bounds[1]);
      int end = (int) ((long) count * (tile + 1) / tiles);
      for (int i = (int) ((long) count * tile / tiles); i < end; i += CHUNK) {
        if (frame.isOver(scratch)) {
          return;
        }
        byte[] out = frame.bytes(output);
        int some = Math.min(CHUNK, end - i);
        store(frame.isScalar, found, in, from + i, out, output.offset() + i, some);
      }
      if (tile == 0) {
        frame.floats(scale)[scale.offset()] = found.scale();
        frame.bytes(zeroPoint)[zeroPoint.offset()] = (byte) found.zeroPoint();
      }
    }

    /** Moves the least and the most float so that they take in others; NaN is neither. */
    private static void widen(boolean isScalar, float[] bounds, float[] in, int from, int count) {
      float least = bounds[0];
      float most = bounds[1];
      int i = 0;
      if (!isScalar) {
        FloatVector low = FloatVector.broadcast(FLOATS, least);
        FloatVector high = FloatVector.broadcast(FLOATS, most);
        for (; i <= count - COUNT; i += COUNT) {
          FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
          low = low.blend(x, x.compare(VectorOperators.LT, low));
          high = high.blend(x, x.compare(VectorOperators.GT, high));
        }
        least = low.reduceLanes(VectorOperators.MIN);
        most = high.reduceLanes(VectorOperators.MAX);
      }
      for (; i < count; i++) {
        float x = in[from + i];
        least = x < least ? x : least;
        most = x > most ? x : most;
      }
      bounds[0] = least;
      bounds[1] = most;
    }

    private static void store(
        boolean isScalar, Found found, float[] in, int from, byte[] out, int to, int count) {
      int i = 0;
      if (!isScalar) {
        FloatVector scale = FloatVector.broadcast(FLOATS, found.scale());
        FloatVector rounder = FloatVector.broadcast(FLOATS, ROUNDER);
        int zero = found.zeroPoint() - Float.floatToRawIntBits(ROUNDER);
        IntVector zeroPoint = IntVector.broadcast(INTS, zero);
        IntVector least = IntVector.zero(INTS);
        IntVector most = IntVector.broadcast(INTS, STEPS);
        for (; i <= count - COUNT; i += COUNT) {
          FloatVector steps = FloatVector.fromArray(FLOATS, in, from + i).div(scale);
          IntVector whole =
              steps
                  .add(rounder)
                  .blend(rounder, steps.compare(VectorOperators.NE, steps))
                  .reinterpretAsInts();
          Lanes.toBytes(whole.add(zeroPoint).max(least).min(most), out, to + i);
        }
      }
      for (; i < count; i++) {
        out[to + i] = (byte) found.stored(in[from + i]);
      }
    }
  }
}
