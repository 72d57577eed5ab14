// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Pooling.Parameters;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;

/** One result for each window over two spatial axes; channels stand last. */
public final class Pooling {
  private Pooling() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D}) {
      boolean isMaximum = code == OperationCode.MAX_POOL_2D;
      Lowering lowering = (node, tensors, budget) -> lower(isMaximum, node, tensors, budget);
      Lowering clamped =
          new Lowering.Clamped(
              lowering, operation -> operation.parameters(Parameters.class).activation());
      table
          .add(code, Pooling::isPossible, clamped, TENSOR_FLOAT32)
          .add(code, Pooling::isPossible, lowering, ElementTypes.quantized8());
    }
    table.add(
        ThalamusExtension.AVERAGE_POOL_2D,
        Pooling::isPossible,
        (node, tensors, budget) -> lower(false, node, tensors, budget),
        ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    if (!operation.input(0).isShapeKnown() || !operation.hasValues(1)) {
      return false;
    }
    int activation = operation.inputs().size() >= 10 ? 9 : 6;
    OperandView layout =
        operation.inputs().size() > activation + 1 ? operation.input(activation + 1) : null;
    long cells =
        (long) operation.input(activation - 1).int32() * operation.input(activation - 2).int32();
    return cells <= StoredPool.MOST_CELLS
        && (layout == null || (layout.type() == OperandCode.BOOL && !layout.bool()))
        && (operation.input(0).type() != TENSOR_FLOAT32
            || operation.input(activation).int32() != FusedActivation.RELU1.code());
  }

  private static Step lower(boolean isMaximum, Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    Tensor input = tensors.input(node, 0);
    Tensor output = tensors.output(node);
    Shape shape = node.operation().outputShape(0);
    Windows windows =
        new Windows(
            input, parameters.height(), parameters.width(), shape.dimension(1), shape.dimension(2));
    long work = (long) output.size() * parameters.height().size() * parameters.width().size();
    int lines = shape.dimension(0) * shape.dimension(1);
    int tiles = budget.tiles(work);
    if (input.isFloat()) {
      return new FloatPool(isMaximum, windows, output, Clamp.of(node.activation()), lines, tiles);
    }
    return new StoredPool(isMaximum, windows, output, parameters, lines, tiles);
  }

  /**
   * Windows over an input, cut where they reach beyond it.
   *
   * @param input as [batch, height, width, channels]
   */
  record Windows(Tensor input, Window height, Window width, int outputHeight, int outputWidth) {
    /** Returns the lines under the windows of an output line. */
    int lines(int line) {
      int y = line % outputHeight;
      return height.endTap(y, input.dimension(1)) - height.firstTap(y);
    }

    /** Returns the pixels of a line under a window. */
    int pixels(int x) {
      return width.endTap(x, input.dimension(2)) - width.firstTap(x);
    }

    /** Returns the place of the first element under a window. */
    int at(int line, int x) {
      int y = line % outputHeight;
      int first = height.cell(y, height.firstTap(y));
      int inputLine = line / outputHeight * input.dimension(1) + first;
      int pixel = inputLine * input.dimension(2) + width.cell(x, width.firstTap(x));
      return input.offset() + pixel * input.dimension(3);
    }
  }
}
