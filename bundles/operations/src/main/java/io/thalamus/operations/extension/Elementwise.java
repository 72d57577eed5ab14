// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.Check;
import io.thalamus.operations.NamedDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;

/** Functions of two tensors with broadcasting: SQUARED_DIFFERENCE, FLOOR_DIV. No parameters. */
final class Elementwise {
  private static final TypeLevels NUMBERS =
      TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32);

  private Elementwise() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Pair(
            ThalamusExtension.SQUARED_DIFFERENCE,
            NUMBERS.andSince(V1_2, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)),
        new Pair(ThalamusExtension.FLOOR_DIV, NUMBERS));
  }

  private static final class Pair extends NamedDefinition {
    private final TypeLevels types;

    Pair(ExtensionOperationType type, TypeLevels types) {
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
      check.inputType(1, data).outputType(0, data);
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
