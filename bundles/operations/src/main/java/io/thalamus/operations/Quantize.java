// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
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
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.ArgumentType.of;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import java.util.List;
import java.util.Set;

/** From one element type to another: QUANTIZE, DEQUANTIZE, CAST. */
public final class Quantize {
  /** The types that CAST changes into each other; all others it only copies. */
  private static final Set<OperandCode> CONVERTIBLE =
      Set.of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM);

  private Quantize() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        ElementwiseDefinition.of(
            OperationCode.QUANTIZE,
            Signature.since(V1_2)
                .inputs(data("input", TypeLevels.floats(V1_2)))
                .outputs(
                    argument(
                            "output",
                            of(TENSOR_QUANT8_ASYMM).or(of(TENSOR_QUANT8_ASYMM_SIGNED).from(V1_3)))
                        .shapedAs("input")),
            Trait.DISCONTINUOUS),
        ElementwiseDefinition.of(
            OperationCode.DEQUANTIZE,
            Signature.since(V1_0)
                .inputs(
                    data(
                            "input",
                            TypeLevels.since(V1_0, TENSOR_QUANT8_ASYMM)
                                .andSince(V1_2, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL)
                                .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED))
                        .rank(1, 4))
                .outputs(
                    argument("output", of(TENSOR_FLOAT32).or(of(TENSOR_FLOAT16).from(V1_2)))
                        .shapedAs("input"))),
        ElementwiseDefinition.of(
            OperationCode.CAST,
            Signature.since(V1_2)
                .inputs(
                    data(
                        "input",
                        TypeLevels.since(V1_2, CONVERTIBLE.toArray(OperandCode[]::new))
                            .andSince(
                                V1_3,
                                TENSOR_BOOL8,
                                TENSOR_QUANT16_ASYMM,
                                TENSOR_QUANT16_SYMM,
                                TENSOR_QUANT8_ASYMM_SIGNED,
                                TENSOR_QUANT8_SYMM)))
                .outputs(
                    argument(
                            "output",
                            of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
                                .when(CONVERTIBLE)
                                .or(T.unless(CONVERTIBLE)))
                        .shapedAs("input")),
            Trait.DISCONTINUOUS));
  }
}
