// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperationCode;
import java.util.List;

/**
 * Questions about pairs of elements, with broadcasting: EQUAL, NOT_EQUAL, LESS, LESS_EQUAL,
 * GREATER, GREATER_EQUAL, LOGICAL_AND, LOGICAL_OR. They have no parameters; quantized elements are
 * compared as the real numbers they stand for.
 */
public final class Comparison {
  private static final TypeLevels COMPARABLE =
      TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_BOOL8, TENSOR_INT32);
  private static final TypeLevels LOGICAL = TypeLevels.since(V1_2, TENSOR_BOOL8);

  private Comparison() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        question(OperationCode.EQUAL, COMPARABLE, Trait.DISCONTINUOUS),
        question(OperationCode.NOT_EQUAL, COMPARABLE, Trait.DISCONTINUOUS),
        question(OperationCode.LESS, COMPARABLE, Trait.DISCONTINUOUS),
        question(OperationCode.LESS_EQUAL, COMPARABLE, Trait.DISCONTINUOUS),
        question(OperationCode.GREATER, COMPARABLE, Trait.DISCONTINUOUS),
        question(OperationCode.GREATER_EQUAL, COMPARABLE, Trait.DISCONTINUOUS),
        question(OperationCode.LOGICAL_AND, LOGICAL),
        question(OperationCode.LOGICAL_OR, LOGICAL));
  }

  private static OperationDefinition question(
      OperationCode type, TypeLevels types, Trait... traits) {
    return ElementwiseDefinition.of(
        type,
        Signature.since(V1_2)
            .inputs(data("input0", types), argument("input1", T))
            .outputs(argument("output", TENSOR_BOOL8)),
        traits);
  }
}
