// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.ElementwiseDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.Signature;
import io.thalamus.operations.Trait;
import io.thalamus.operations.TypeLevels;
import java.util.List;
import java.util.stream.Stream;

/** Functions of single numbers: BITCAST, CAST, ERF, QUANTIZE. They have no parameters. */
final class UnaryMath {
  private UnaryMath() {}

  private static final TypeLevels COMPUTED =
      TypeLevels.since(
          V1_2,
          OperandCode.TENSOR_FLOAT32,
          OperandCode.TENSOR_INT32,
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
          OperandCode.TENSOR_QUANT16_SYMM,
          OperandCode.TENSOR_QUANT16_ASYMM);

  /** What is true is cast too, but nothing to it. */
  private static final TypeLevels CAST =
      TypeLevels.since(
          V1_2,
          Stream.concat(COMPUTED.types().stream(), Stream.of(OperandCode.TENSOR_BOOL8))
              .toArray(OperandCode[]::new));

  private static final OperandType[] WIDE = WideTypes.all().toArray(OperandType[]::new);

  private static final OperandType[] RESULTS =
      Stream.concat(Stream.of(WIDE), COMPUTED.types().stream()).toArray(OperandType[]::new);

  static List<OperationDefinition> definitions() {
    return List.of(
        ElementwiseDefinition.of(
            ThalamusExtension.BITCAST,
            Signature.since(V1_2)
                .inputs(
                    data(
                        "input",
                        TypeLevels.since(
                            V1_2, OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32)))
                .outputs(
                    argument("output", OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32)
                        .shapedAs("input")),
            Trait.DISCONTINUOUS),
        ElementwiseDefinition.of(
            ThalamusExtension.CAST,
            Signature.since(V1_2)
                .inputs(data("input", CAST))
                .inputs(argument("input", WIDE))
                .outputs(argument("output", RESULTS).shapedAs("input"))),
        ElementwiseDefinition.of(
            ThalamusExtension.ERF,
            Signature.since(V1_2)
                .inputs(data("input", TypeLevels.floats(V1_2)))
                .outputs(argument("output", T).shapedAs("input"))),
        ElementwiseDefinition.of(
            ThalamusExtension.QUANTIZE,
            Signature.since(V1_2)
                .inputs(data("input", TypeLevels.floats(V1_2)))
                .outputs(
                    argument(
                            "output",
                            OperandCode.TENSOR_QUANT8_ASYMM,
                            OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)
                        .shapedAs("input")),
            Trait.DISCONTINUOUS));
  }
}
