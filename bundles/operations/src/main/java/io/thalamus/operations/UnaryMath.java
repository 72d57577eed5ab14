// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * Functions of one element: ABS, NEG, EXP, LOG, SQRT, RSQRT, SIN, FLOOR, LOGICAL_NOT. They have no
 * parameters.
 */
public final class UnaryMath {
  private static final TypeLevels FLOATS = TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);

  private UnaryMath() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Function(OperationCode.ABS, V1_2, FLOATS.andSince(V1_3, TENSOR_INT32)),
        new Function(OperationCode.NEG, V1_2, FLOATS.andSince(V1_2, TENSOR_INT32)),
        new Function(OperationCode.EXP, V1_2, FLOATS),
        new Function(OperationCode.LOG, V1_2, FLOATS),
        new Function(OperationCode.SQRT, V1_2, FLOATS),
        new Function(OperationCode.RSQRT, V1_2, FLOATS),
        new Function(OperationCode.SIN, V1_2, FLOATS),
        new Function(
            OperationCode.FLOOR,
            V1_0,
            TypeLevels.since(V1_0, TENSOR_FLOAT32).andSince(V1_2, TENSOR_FLOAT16)),
        new Function(OperationCode.LOGICAL_NOT, V1_2, TypeLevels.since(V1_2, TENSOR_BOOL8)));
  }

  private static final class Function extends NamedDefinition {
    private final FeatureLevel introducedIn;
    private final TypeLevels types;

    Function(OperationCode type, FeatureLevel introducedIn, TypeLevels types) {
      super(type);
      this.introducedIn = introducedIn;
      this.types = types;
    }

    @Override
    public TypeLevels types() {
      return types;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, introducedIn, 1, 1);
      OperandCode data = check.inputType(0, types());
      if (introducedIn == V1_0) {
        check.inputRank(0, 1, 4);
      }
      return check.outputType(0, data).level();
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }
}
