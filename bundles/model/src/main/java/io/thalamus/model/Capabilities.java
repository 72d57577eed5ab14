// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Map;
import java.util.Objects;

/**
 * The performance that a device declares. Immutable.
 *
 * @param relaxedFloat32toFloat16Scalar for FLOAT32 scalars of relaxed models
 * @param relaxedFloat32toFloat16Tensor for TENSOR_FLOAT32 of relaxed models
 * @param operandPerformance by the type of an operation's first operand
 * @param ifPerformance for IF
 * @param whilePerformance for WHILE
 */
public record Capabilities(
    PerformanceInfo relaxedFloat32toFloat16Scalar,
    PerformanceInfo relaxedFloat32toFloat16Tensor,
    Map<OperandType, PerformanceInfo> operandPerformance,
    PerformanceInfo ifPerformance,
    PerformanceInfo whilePerformance) {
  public Capabilities {
    Objects.requireNonNull(relaxedFloat32toFloat16Scalar, "relaxedFloat32toFloat16Scalar");
    Objects.requireNonNull(relaxedFloat32toFloat16Tensor, "relaxedFloat32toFloat16Tensor");
    Objects.requireNonNull(ifPerformance, "ifPerformance");
    Objects.requireNonNull(whilePerformance, "whilePerformance");
    operandPerformance = Map.copyOf(operandPerformance);
  }

  /** The declared performance for operations whose first operand has this type. */
  public PerformanceInfo of(OperandType type, boolean relaxed) {
    if (relaxed && type == OperandCode.TENSOR_FLOAT32) {
      return relaxedFloat32toFloat16Tensor;
    }
    if (relaxed && type == OperandCode.FLOAT32) {
      return relaxedFloat32toFloat16Scalar;
    }
    return operandPerformance.getOrDefault(type, PerformanceInfo.UNSUPPORTED);
  }
}
