// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.operations.ElementwiseDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.Signature;
import io.thalamus.operations.Trait;
import io.thalamus.operations.TypeLevels;
import java.util.List;
import java.util.stream.Stream;

/** Functions of two tensors with broadcasting. */
final class Elementwise {
  private static final TypeLevels NUMBERS = TypeLevels.floats(V1_2).andSince(V1_2, TENSOR_INT32);

  private Elementwise() {}

  static List<OperationDefinition> definitions() {
    List<OperationDefinition> pairs =
        List.of(
            pair(
                ThalamusExtension.SQUARED_DIFFERENCE,
                NUMBERS.andSince(V1_2, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)),
            pair(ThalamusExtension.FLOOR_DIV, NUMBERS, Trait.DISCONTINUOUS),
            pair(ThalamusExtension.ATAN2, TypeLevels.floats(V1_2), Trait.DISCONTINUOUS),
            pair(ThalamusExtension.BITWISE_XOR, TypeLevels.since(V1_2, TENSOR_INT32)),
            pair(ThalamusExtension.RIGHT_SHIFT, TypeLevels.since(V1_2, TENSOR_INT32)));
    return Stream.concat(
            pairs.stream(),
            io.thalamus.operations.Elementwise.even(
                ThalamusExtension.ADD, ThalamusExtension.SUB, ThalamusExtension.MUL)
                .stream())
        .toList();
  }

  private static OperationDefinition pair(
      ExtensionOperationType type, TypeLevels types, Trait... traits) {
    return ElementwiseDefinition.of(
        type,
        Signature.since(V1_2)
            .inputs(data("input0", types), argument("input1", T))
            .outputs(argument("output", T)),
        traits);
  }
}
