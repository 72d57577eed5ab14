// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.CellActivation;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Recurrent.SvdfParameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Functions;
import io.thalamus.simd.kernel.Functions.Kind;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.Map;

/** Filters over the last inputs: SVDF. The row of a batch is a tile. */
final class Svdf {
  private static final int INPUT = 0;
  private static final int FEATURE_WEIGHTS = 1;
  private static final int TIME_WEIGHTS = 2;
  private static final int BIAS = 3;
  private static final int STATE = 4;

  private static final int NEXT_STATE = 0;
  private static final int RESULT = 1;

  private static final Map<CellActivation, Function> FUNCTIONS =
      Map.of(
          CellActivation.NONE, new Function(Kind.CLAMP, Clamp.NONE),
          CellActivation.RELU, new Function(Kind.CLAMP, Clamp.of(FusedActivation.RELU)),
          CellActivation.RELU6, new Function(Kind.CLAMP, Clamp.of(FusedActivation.RELU6)),
          CellActivation.TANH, new Function(Kind.TANH, Clamp.NONE),
          CellActivation.SIGMOID, new Function(Kind.LOGISTIC, Clamp.NONE));

  private record Function(Kind kind, Clamp clamp) {}

  private Svdf() {}

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.SVDF, Svdf::isPossible, new Filtered(), TENSOR_FLOAT32);
  }

  /** A bias that is no constant may be left out by an execution. */
  private static boolean isPossible(OperationView operation) {
    return Lstm.areShapesKnown(operation)
        && operation.input(FEATURE_WEIGHTS).value().isPresent()
        && (!operation.has(BIAS) || operation.input(BIAS).value().isPresent())
        && StaticGraph.parameters(operation, SvdfParameters.class)
            .filter(them -> FUNCTIONS.containsKey(them.activation()))
            .filter(them -> them.batches() > 0)
            .isPresent();
  }

  /** Reads all but the weights of features, which are packed. */
  private record Filtered() implements Lowering {
    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      SvdfParameters parameters = node.operation().parameters(SvdfParameters.class);
      return new Filters(
          parameters,
          Grid.of(1, parameters.filters(), parameters.inputSize(), budget).leftFloats(),
          new Product(
              Products.packed(node, tensors, FEATURE_WEIGHTS), new float[parameters.filters()], 1),
          tensors.input(node, INPUT),
          tensors.input(node, TIME_WEIGHTS),
          parameters.hasBias() ? tensors.input(node, BIAS) : null,
          tensors.input(node, STATE),
          tensors.get(node.outputs().get(NEXT_STATE)),
          tensors.get(node.outputs().get(RESULT)));
    }

    @Override
    public boolean reads(ResolvedOperation operation, int input) {
      return input != FEATURE_WEIGHTS && Lowering.super.reads(operation, input);
    }
  }

  /**
   * The filters of each batch.
   *
   * @param leftFloats room for a row and those that kernels read with it
   * @param features the product of an input by the weights of all filters
   * @param bias null where there is none
   */
  private record Filters(
      SvdfParameters parameters,
      int leftFloats,
      Product features,
      Tensor input,
      Tensor weights,
      Tensor bias,
      Tensor state,
      Tensor nextState,
      Tensor result)
      implements Step {
    @Override
    public int tiles() {
      return parameters.batches();
    }

    /** The left row, and what becomes of it. */
    @Override
    public int scratchFloats() {
      return leftFloats + Lanes.roundUp(parameters.filters());
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      int products = Lanes.LEAD + leftFloats;
      if (!multiply(frame, scratch, tile, products)) {
        return;
      }
      float[] some = scratch.floats;
      float[] out = frame.floats(result);
      int rank = parameters.rank();
      int units = parameters.units();
      int to = result.offset() + tile * units;
      for (int unit = 0; unit < units; unit++) {
        if (frame.isOver(scratch)) {
          return;
        }
        float sum = bias == null ? 0 : frame.floats(bias)[bias.offset() + unit];
        for (int filter = unit * rank; filter < (unit + 1) * rank; filter++) {
          sum += filter(frame, tile, filter, some[products + filter]);
        }
        out[to + unit] = sum;
      }
      Function function = FUNCTIONS.get(parameters.activation());
      Functions.apply(
          function.kind(), function.clamp(), out, to, out, to, units, scratch.spareFloats);
    }

    private boolean multiply(Frame frame, Scratch scratch, int tile, int to) {
      float[] in = frame.floats(input);
      int size = parameters.inputSize();
      int filters = parameters.filters();
      Rows rows = scratch.rows;
      rows.areScalar = frame.isScalar;
      rows.count = 1;
      rows.left(scratch.floats, Lanes.LEAD);
      rows.addNothing();
      rows.result(scratch.floats, to, filters);
      int from = 0;
      do {
        int end = Math.min(size, from + Rows.LONGEST);
        int at = input.offset() + tile * size + from;
        System.arraycopy(in, at, scratch.floats, Lanes.LEAD, end - from);
        if (!Grid.multiply(frame, scratch, features, from, end, 0, filters, Clamp.NONE)) {
          return false;
        }
        rows.added(scratch.floats, to, filters);
        from = end;
      } while (from < size);
      return true;
    }

    /** Returns the sum of a filter, which then keeps a product for the next step. */
    private float filter(Frame frame, int tile, int filter, float product) {
      int memory = parameters.memory();
      int last = memory - 1;
      float[] kept = frame.floats(state);
      float[] factors = frame.floats(weights);
      float[] next = frame.floats(nextState);
      int place = (tile * parameters.filters() + filter) * memory;
      int from = state.offset() + place;
      int factor = weights.offset() + filter * memory;
      int to = nextState.offset() + place;
      float sum = dot(kept, from, factors, factor, last) + product * factors[factor + last];
      if (last > 0) {
        System.arraycopy(kept, from + 1, next, to, last - 1);
        next[to + last - 1] = product;
      }
      next[to + last] = 0;
      return sum;
    }

    /** Four sums in a fixed order, which no tile changes. */
    private static float dot(float[] one, int first, float[] other, int second, int count) {
      float sum0 = 0;
      float sum1 = 0;
      float sum2 = 0;
      float sum3 = 0;
      int i = 0;
      for (; i <= count - 4; i += 4) {
        sum0 += one[first + i] * other[second + i];
        sum1 += one[first + i + 1] * other[second + i + 1];
        sum2 += one[first + i + 2] * other[second + i + 2];
        sum3 += one[first + i + 3] * other[second + i + 3];
      }
      for (; i < count; i++) {
        sum0 += one[first + i] * other[second + i];
      }
      return sum0 + sum1 + (sum2 + sum3);
    }
  }
}
