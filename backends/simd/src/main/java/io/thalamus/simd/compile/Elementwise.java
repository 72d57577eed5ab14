// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Activation.QuantizedPrelu;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Elementwise.Even;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.Elementwise.QuantizedExtreme;
import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;

/** Arithmetic on two tensors, broadcast where the runs that remain are long. */
public final class Elementwise {
  private Elementwise() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {OperationCode.ADD, OperationCode.SUB, OperationCode.MUL}) {
      table
          .add(code, Elementwise::isPossible, clamped(code), TENSOR_FLOAT32)
          .add(code, Elementwise::isPossible, Elementwise::stored, ElementTypes.quantized8());
    }
    table.add(
        OperationCode.DIV, Elementwise::isPossible, clamped(OperationCode.DIV), TENSOR_FLOAT32);
    unclamped(table, OperationCode.MAXIMUM, FloatPairs.Kind.MAXIMUM);
    unclamped(table, OperationCode.MINIMUM, FloatPairs.Kind.MINIMUM);
    extreme(table, OperationCode.MAXIMUM, true);
    extreme(table, OperationCode.MINIMUM, false);
    table.add(
        OperationCode.POW,
        Elementwise::isBroadcastPossible,
        (node, tensors, budget) -> floats(power(node), Clamp.NONE, node, tensors, budget),
        TENSOR_FLOAT32);
    unclamped(table, OperationCode.PRELU, FloatPairs.Kind.PRELU);
    table.add(
        OperationCode.PRELU,
        Elementwise::isBroadcastPossible,
        (node, tensors, budget) ->
            new StoredPrelu(
                node.operation().parameters(QuantizedPrelu.class), pairs(node, tensors), budget),
        ElementTypes.quantized8());
    unclamped(table, ThalamusExtension.SQUARED_DIFFERENCE, FloatPairs.Kind.SQUARED_DIFFERENCE);
    unclamped(table, ThalamusExtension.FLOOR_DIV, FloatPairs.Kind.FLOOR_DIV);
    integers(table, OperationCode.ADD, IntPairs.Kind.ADD);
    integers(table, OperationCode.SUB, IntPairs.Kind.SUB);
    integers(table, OperationCode.MUL, IntPairs.Kind.MUL);
    integers(table, OperationCode.DIV, IntPairs.Kind.DIV);
    integers(table, OperationCode.MAXIMUM, IntPairs.Kind.MAXIMUM);
    integers(table, OperationCode.MINIMUM, IntPairs.Kind.MINIMUM);
    integers(table, ThalamusExtension.SQUARED_DIFFERENCE, IntPairs.Kind.SQUARED_DIFFERENCE);
    integers(table, ThalamusExtension.FLOOR_DIV, IntPairs.Kind.FLOOR_DIV);
    integers(table, ThalamusExtension.BITWISE_XOR, IntPairs.Kind.BITWISE_XOR);
    integers(table, ThalamusExtension.RIGHT_SHIFT, IntPairs.Kind.RIGHT_SHIFT);
    even(table, ThalamusExtension.ADD, StoredReals.Kind.ADD);
    even(table, ThalamusExtension.SUB, StoredReals.Kind.SUB);
    even(table, ThalamusExtension.MUL, StoredReals.Kind.MUL);
  }

  private static void unclamped(
      OperationTable.Builder<Lowering> table, OperationType type, FloatPairs.Kind kind) {
    table.add(
        type,
        Elementwise::isBroadcastPossible,
        (node, tensors, budget) -> floats(kind, Clamp.NONE, node, tensors, budget),
        TENSOR_FLOAT32);
  }

  /** Small powers are products, since a call of the JDK's function takes as long as dozens. */
  private static FloatPairs.Kind power(Node node) {
    OperandView exponent = node.operation().view().input(1);
    float power =
        exponent.value().isPresent() && exponent.shape().elementCount() == 1
            ? Stored.floats(exponent.value().get())[0]
            : 0;
    if (power == 2) {
      return FloatPairs.Kind.SQUARE;
    }
    return power == 3 ? FloatPairs.Kind.CUBE : FloatPairs.Kind.POW;
  }

  /** The larger or the smaller of stored bytes, each of which is made one of the result. */
  private static void extreme(
      OperationTable.Builder<Lowering> table, OperationCode code, boolean isLargest) {
    table.add(
        code,
        Elementwise::isBroadcastPossible,
        (node, tensors, budget) -> {
          QuantizedExtreme extreme = node.operation().parameters(QuantizedExtreme.class);
          return new StoredExtreme(
              isLargest,
              pairs(node, tensors),
              Activation.table(tensors.input(node, 0), extreme.first()::apply),
              Activation.table(tensors.input(node, 1), extreme.second()::apply),
              budget);
        },
        ElementTypes.quantized8());
  }

  private static void integers(
      OperationTable.Builder<Lowering> table, OperationType type, IntPairs.Kind kind) {
    table.add(
        type,
        operation ->
            operation.inputs().size() > 2 ? isPossible(operation) : isBroadcastPossible(operation),
        (node, tensors, budget) -> new IntPairs(kind, pairs(node, tensors), budget),
        TENSOR_INT32);
  }

  private static void even(
      OperationTable.Builder<Lowering> table, OperationType type, StoredReals.Kind kind) {
    table.add(
        type,
        Elementwise::isPossible,
        (node, tensors, budget) ->
            new StoredReals(
                kind,
                node.operation().parameters(Even.class).activation(),
                pairs(node, tensors),
                budget),
        ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(2).value().isPresent()
        && (operation.input(0).type() != TENSOR_FLOAT32
            || operation.input(2).int32() != FusedActivation.RELU1.code())
        && isBroadcastPossible(operation);
  }

  /** Returns true if the first two inputs are known, and can be walked over. */
  static boolean isBroadcastPossible(OperationView operation) {
    if (!operation.input(0).isShapeKnown() || !operation.input(1).isShapeKnown()) {
      return false;
    }
    Shape first = operation.input(0).shape();
    Shape second = operation.input(1).shape();
    try {
      return Pairs.isPossible(first, second, Broadcast.shape(first, second));
    } catch (ValidationException e) {
      return false;
    }
  }

  private static Lowering clamped(OperationCode code) {
    FloatPairs.Kind kind = FloatPairs.Kind.valueOf(code.name());
    return new Lowering.Clamped(
        (node, tensors, budget) -> floats(kind, Clamp.of(node.activation()), node, tensors, budget),
        operation -> operation.parameters(Plain.class).activation());
  }

  private static Step floats(
      FloatPairs.Kind kind, Clamp clamp, Node node, Tensors tensors, Budget budget) {
    return new FloatPairs(kind, pairs(node, tensors), clamp, budget);
  }

  private static Pairs pairs(Node node, Tensors tensors) {
    return Pairs.of(
        tensors.input(node, 0),
        tensors.input(node, 1),
        tensors.output(node),
        node.operation().outputShape(0));
  }

  private static Step stored(Node node, Tensors tensors, Budget budget) {
    Pairs pairs = pairs(node, tensors);
    return switch (node.operation().parameters()) {
      case QuantizedSum sum -> new StoredSum(sum, pairs, budget);
      case QuantizedProduct product -> new StoredProduct(product, pairs, budget);
      default -> throw new IllegalStateException("no parameters of stored arithmetic");
    };
  }
}
