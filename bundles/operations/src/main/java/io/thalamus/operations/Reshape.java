// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.ELEMENT;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;

/**
 * Operations on dimensions that leave the order of elements as it is: RESHAPE, SQUEEZE,
 * EXPAND_DIMS; and RANK and FILL, which turn dimensions into values and values into dimensions.
 */
public final class Reshape {
  private static final int DIMENSIONS = 0;
  private static final int AXES = 1;
  private static final int TARGET = 1;

  private Reshape() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.RESHAPE,
                Signature.since(V1_0)
                    .inputs(
                        data("input", TypeLevels.numbers(V1_0)).rank(1, 4),
                        argument("shape", TENSOR_INT32).needsValue(true))
                    .outputs(argument("output", T).quantizedAs("input")),
                Reshape::reshaped,
                Trait.DATA_MOVEMENT)
            .checkedBy(Reshape::checkReshape),
        new FunctionDefinition(
            OperationCode.SQUEEZE,
            Signature.since(V1_1)
                .inputs(
                    data("input", TypeLevels.numbers(V1_1)).rank(1, 4),
                    argument("axes", TENSOR_INT32).omittable().needsValue(true))
                .outputs(argument("output", T).quantizedAs("input")),
            Reshape::squeezed,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
            OperationCode.EXPAND_DIMS,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32)),
                    argument("axis", INT32))
                .outputs(argument("output", T).quantizedAs("input")),
            Reshape::expanded,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
            OperationCode.RANK,
            Signature.since(V1_3)
                .inputs(data("input", TypeLevels.since(V1_3, ElementTypes.tensors())))
                .outputs(argument("output", INT32)),
            operation -> List.of(Shape.NONE)),
        new FunctionDefinition(
            OperationCode.FILL,
            Signature.since(V1_3)
                .inputs(
                    argument("dimensions", TENSOR_INT32).rank(1).needsValue(true),
                    argument("value", ELEMENT).needsValue(false))
                .outputs(
                    data(
                        "output",
                        TypeLevels.since(V1_3, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32))),
            Reshape::filled));
  }

  private static void checkReshape(OperationView operation, Check check)
      throws ValidationException {
    if (operation.input(0).isShapeKnown() && operation.input(TARGET).value().isPresent()) {
      reshaped(operation);
    }
  }

  private static List<Shape> reshaped(OperationView operation) throws ValidationException {
    int[] target = operation.input(TARGET).int32s();
    Shape input = operation.input(0).shape();
    if (target.length == 0) {
      throw new ValidationException("the new shape has no dimensions");
    }
    int stretched = -1;
    long count = 1;
    for (int i = 0; i < target.length; i++) {
      if (target[i] == -1 && stretched < 0) {
        stretched = i;
      } else if (target[i] < 0) {
        throw new ValidationException(
            "the new shape is "
                + Arrays.toString(target)
                + "; one dimension may be -1, none else negative");
      } else {
        count = Math.multiplyExact(count, target[i]);
      }
    }
    if (stretched >= 0 && count > 0) {
      target[stretched] = (int) (input.elementCount() / count);
      count *= target[stretched];
    }
    if (count != input.elementCount() || (stretched >= 0 && target[stretched] < 0)) {
      throw new ValidationException(
          "the elements of " + input + " do not fill the shape " + Arrays.toString(target));
    }
    return List.of(Shape.of(target));
  }

  private static List<Shape> squeezed(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    boolean[] removed = new boolean[input.rank()];
    if (operation.has(AXES)) {
      for (int axis : operation.input(AXES).int32s()) {
        int counted = axis(axis, input.rank());
        if (input.dimension(counted) != 1) {
          throw new ValidationException("axis " + axis + " of " + input + " is not of size 1");
        }
        removed[counted] = true;
      }
    } else {
      for (int i = 0; i < removed.length; i++) {
        removed[i] = input.dimension(i) == 1;
      }
    }
    int[] kept = new int[input.rank()];
    int rank = 0;
    for (int i = 0; i < removed.length; i++) {
      if (!removed[i]) {
        kept[rank++] = input.dimension(i);
      }
    }
    // A tensor keeps at least one dimension: without any, its rank would be unknown.
    return List.of(rank == 0 ? Shape.of(1) : Shape.of(Arrays.copyOf(kept, rank)));
  }

  private static List<Shape> expanded(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int axis = axis(operation.input(1).int32(), input.rank() + 1);
    int[] dimensions = new int[input.rank() + 1];
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = i == axis ? 1 : input.dimension(i < axis ? i : i - 1);
    }
    return List.of(Shape.of(dimensions));
  }

  private static List<Shape> filled(OperationView operation) throws ValidationException {
    int[] dimensions = operation.input(DIMENSIONS).int32s();
    for (int dimension : dimensions) {
      if (dimension < 0) {
        throw new ValidationException(
            "the shape to fill has a negative dimension: " + Arrays.toString(dimensions));
      }
    }
    return List.of(Shape.of(dimensions));
  }
}
