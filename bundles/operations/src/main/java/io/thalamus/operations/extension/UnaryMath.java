// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Check;
import io.thalamus.operations.NamedDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;

/** Functions of single numbers: ERF. They have no parameters. */
final class UnaryMath {
  private UnaryMath() {}

  static List<OperationDefinition> definitions() {
    return List.of(new Erf());
  }

  private static final class Erf extends NamedDefinition {
    private static final TypeLevels TYPES = TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);

    Erf() {
      super(ThalamusExtension.ERF);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 1, 1);
      OperandCode data = check.inputType(0, types());
      return check.outputType(0, data).sameShape(operation.input(0), operation.output()).level();
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }
}
