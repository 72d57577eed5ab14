// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;

/**
 * Operations on dimensions that leave the order of elements as it is: RESHAPE, SQUEEZE,
 * EXPAND_DIMS; and RANK and FILL, which turn dimensions into values and values into dimensions.
 */
public final class Reshape {
  private Reshape() {}

  static List<OperationDefinition> definitions() {
    return List.of(new ToShape(), new Squeeze(), new ExpandDims(), new Rank(), new Fill());
  }

  private static final class ToShape extends NamedDefinition {
    private static final int TARGET = 1;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_2, TENSOR_FLOAT16)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    ToShape() {
      super(OperationCode.RESHAPE);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_0, 2, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(TARGET, TENSOR_INT32).outputType(0, data).inputRank(0, 1, 4);
      check.sameQuantization(operation.input(0), operation.output());
      if (operation.input(0).isShapeKnown() && operation.input(TARGET).value().isPresent()) {
        infer(operation);
      }
      return check.level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return input == TARGET;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
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
  }

  private static final class Squeeze extends NamedDefinition {
    private static final int AXES = 1;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_1, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_2, TENSOR_FLOAT16)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Squeeze() {
      super(OperationCode.SQUEEZE);
    }

    @Override
    public boolean isOptional(int input) {
      return input == AXES;
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_1, 2, 1);
      OperandCode data = check.inputType(0, types());
      check.optionalInputType(AXES, TENSOR_INT32).outputType(0, data).inputRank(0, 1, 4);
      check.sameQuantization(operation.input(0), operation.output());
      return check.level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return input == AXES;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
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
  }

  private static final class ExpandDims extends NamedDefinition {
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    ExpandDims() {
      super(OperationCode.EXPAND_DIMS);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 2, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(1, OperandCode.INT32).outputType(0, data);
      check.sameQuantization(operation.input(0), operation.output());
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape input = operation.input(0).shape();
      int axis = axis(operation.input(1).int32(), input.rank() + 1);
      int[] dimensions = new int[input.rank() + 1];
      for (int i = 0; i < dimensions.length; i++) {
        dimensions[i] = i == axis ? 1 : input.dimension(i < axis ? i : i - 1);
      }
      return List.of(Shape.of(dimensions));
    }
  }

  private static final class Rank extends NamedDefinition {
    private static final TypeLevels TYPES =
        TypeLevels.since(
            V1_3,
            TENSOR_FLOAT32,
            TENSOR_FLOAT16,
            TENSOR_INT32,
            TENSOR_BOOL8,
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED,
            TENSOR_QUANT8_SYMM,
            TENSOR_QUANT8_SYMM_PER_CHANNEL,
            TENSOR_QUANT16_ASYMM,
            TENSOR_QUANT16_SYMM);

    Rank() {
      super(OperationCode.RANK);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_3, 1, 1);
      check.inputType(0, types());
      return check.outputType(0, OperandCode.INT32).level();
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(Shape.NONE);
    }
  }

  private static final class Fill extends NamedDefinition {
    private static final int DIMENSIONS = 0;

    Fill() {
      super(OperationCode.FILL);
    }

    @Override
    public TypeLevels types() {
      return TypeLevels.since(V1_3, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_3, 2, 1);
      check.inputType(DIMENSIONS, TENSOR_INT32).inputRank(DIMENSIONS, 1, 1);
      check.outputType(0, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32);
      OperandCode value =
          switch ((OperandCode) operation.output().type()) {
            case TENSOR_FLOAT32 -> OperandCode.FLOAT32;
            case TENSOR_FLOAT16 -> OperandCode.FLOAT16;
            default -> OperandCode.INT32;
          };
      return check.inputType(1, value).level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return input == DIMENSIONS;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      int[] dimensions = operation.input(DIMENSIONS).int32s();
      for (int dimension : dimensions) {
        if (dimension < 0) {
          throw new ValidationException(
              "the shape to fill has a negative dimension: " + Arrays.toString(dimensions));
        }
      }
      return List.of(Shape.of(dimensions));
    }

    @Override
    public OperandType kernelType(OperationView operation) {
      return operation.output().type();
    }
  }
}
