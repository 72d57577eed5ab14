// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperationCode;
import java.util.List;

/**
 * Functions of one element: ABS, NEG, EXP, LOG, SQRT, RSQRT, SIN, FLOOR, LOGICAL_NOT. They have no
 * parameters.
 */
public final class UnaryMath {
  private static final TypeLevels FLOATS = TypeLevels.floats(V1_2);

  private UnaryMath() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        function(OperationCode.ABS, FLOATS.andSince(V1_3, TENSOR_INT32)),
        function(OperationCode.NEG, FLOATS.andSince(V1_2, TENSOR_INT32)),
        function(OperationCode.EXP, FLOATS),
        function(OperationCode.LOG, FLOATS),
        function(OperationCode.SQRT, FLOATS),
        function(OperationCode.RSQRT, FLOATS),
        function(OperationCode.SIN, FLOATS),
        ElementwiseDefinition.of(
            OperationCode.FLOOR,
            Signature.since(V1_0)
                .inputs(data("input", TypeLevels.floats(V1_0)).rank(1, 4))
                .outputs(argument("output", T)),
            Trait.DISCONTINUOUS),
        function(OperationCode.LOGICAL_NOT, TypeLevels.since(V1_2, TENSOR_BOOL8)));
  }

  private static OperationDefinition function(OperationCode type, TypeLevels types) {
    return ElementwiseDefinition.of(
        type, Signature.since(V1_2).inputs(data("input", types)).outputs(argument("output", T)));
  }
}
