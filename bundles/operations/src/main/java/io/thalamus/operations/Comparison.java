// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;
import java.util.stream.Stream;

/**
 * Questions about pairs of elements, with broadcasting: EQUAL, NOT_EQUAL, LESS, LESS_EQUAL,
 * GREATER, GREATER_EQUAL, LOGICAL_AND, LOGICAL_OR. They have no parameters; quantized elements are
 * compared as the real numbers they stand for.
 */
public final class Comparison {
  private static final TypeLevels COMPARABLE =
      TypeLevels.since(
              V1_2, TENSOR_BOOL8, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
          .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);
  private static final TypeLevels LOGICAL = TypeLevels.since(V1_2, TENSOR_BOOL8);

  private Comparison() {}

  static List<OperationDefinition> definitions() {
    return Stream.<OperationDefinition>of(
            new Question(OperationCode.EQUAL, COMPARABLE),
            new Question(OperationCode.NOT_EQUAL, COMPARABLE),
            new Question(OperationCode.LESS, COMPARABLE),
            new Question(OperationCode.LESS_EQUAL, COMPARABLE),
            new Question(OperationCode.GREATER, COMPARABLE),
            new Question(OperationCode.GREATER_EQUAL, COMPARABLE),
            new Question(OperationCode.LOGICAL_AND, LOGICAL),
            new Question(OperationCode.LOGICAL_OR, LOGICAL))
        .toList();
  }

  private static final class Question extends NamedDefinition {
    private final TypeLevels types;

    Question(OperationCode type, TypeLevels types) {
      super(type);
      this.types = types;
    }

    @Override
    public TypeLevels types() {
      return types;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 2, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(1, data).outputType(0, TENSOR_BOOL8);
      if (operation.input(0).isShapeKnown() && operation.input(1).isShapeKnown()) {
        infer(operation);
      }
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      return List.of(Broadcast.shape(operation.input(0).shape(), operation.input(1).shape()));
    }
  }
}
