// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Makes the signed variant of an example, as AOSP's QuantizationCouplingTest does: each operand of
 * TENSOR_QUANT8_ASYMM becomes TENSOR_QUANT8_ASYMM_SIGNED, zero point and values less 128.
 */
public final class SignedVariant {
  static final String UNSIGNED = "TENSOR_QUANT8_ASYMM";
  static final String SIGNED = "TENSOR_QUANT8_ASYMM_SIGNED";
  static final int OFFSET = 128;

  /** Not defined for the signed type, or with quantized values in operands of other types. */
  private static final Set<String> EXCLUDED =
      Set.of(
          "HASHTABLE_LOOKUP",
          "LSH_PROJECTION",
          "PAD_V2",
          "CAST",
          "QUANTIZED_16BIT_LSTM",
          Evaluator.name(ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR));

  private SignedVariant() {}

  /** The signed variant of an example of one operation that takes the unsigned type; else empty. */
  public static Optional<Example> of(Example example) {
    RawSubgraph main = example.main();
    if (main.operations().size() != 1
        || EXCLUDED.contains(main.operations().getFirst().type())
        || main.operands().stream().noneMatch(SignedVariant::isUnsigned)) {
      return Optional.empty();
    }
    List<Example.Input> inputs =
        example.inputs().stream()
            .map(i -> new Example.Input(i.operand(), moved(main, i.operand(), i.values())))
            .toList();
    List<Example.ExpectedOutput> outputs =
        example.expectedOutputs().stream()
            .map(
                o ->
                    new Example.ExpectedOutput(
                        o.operand(), o.ignored(), moved(main, o.operand(), o.values())))
            .toList();
    return Optional.of(
        example
            .withName(example.name() + "_signed_twin")
            .withGraphs(
                signed(main), example.referenced().stream().map(SignedVariant::signed).toList())
            .withData(inputs, outputs));
  }

  private static RawSubgraph signed(RawSubgraph graph) {
    return graph.withOperands(graph.operands().stream().map(SignedVariant::signed).toList());
  }

  private static RawOperand signed(RawOperand operand) {
    return isUnsigned(operand)
        ? operand
            .withType(SIGNED)
            .withZeroPoint(operand.zeroPoint() - OFFSET)
            .withValues(operand.values().map(SignedVariant::moved))
        : operand;
  }

  private static boolean isUnsigned(RawOperand operand) {
    return operand.type().equals(UNSIGNED);
  }

  private static Values moved(RawSubgraph graph, int operand, Values values) {
    return isUnsigned(graph.operands().get(operand)) ? moved(values) : values;
  }

  private static Values moved(Values values) {
    double[] numbers = values.toArray();
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] -= OFFSET;
    }
    return Values.of(numbers);
  }
}
