// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.function.DoubleUnaryOperator;

/** The functions of one value that are one operation, each with how it is computed otherwise. */
enum Unary {
  ABS(OperationCode.ABS, Math::abs),
  NEG(OperationCode.NEG, x -> -x),
  EXP(OperationCode.EXP, Math::exp),
  LOG(OperationCode.LOG, Math::log),
  SQRT(OperationCode.SQRT, Math::sqrt),
  RSQRT(OperationCode.RSQRT, x -> 1 / Math.sqrt(x)),
  SIN(OperationCode.SIN, Math::sin),
  FLOOR(OperationCode.FLOOR, Math::floor),
  RELU(OperationCode.RELU, x -> Math.max(x, 0)),
  RELU6(OperationCode.RELU6, x -> Math.clamp(x, 0, 6)),
  LOGISTIC(OperationCode.LOGISTIC, x -> 1 / (1 + Math.exp(-x))),
  TANH(OperationCode.TANH, Math::tanh),
  HARD_SWISH(OperationCode.HARD_SWISH, x -> x * Math.clamp(x / 6 + 0.5, 0, 1)),
  /** Folded by nobody: constants of it are rare. */
  ERF(ThalamusExtension.ERF, null);

  private final OperationType operation;
  private final DoubleUnaryOperator function;

  Unary(OperationType operation, DoubleUnaryOperator function) {
    this.operation = operation;
    this.function = function;
  }

  OperationType operation() {
    return operation;
  }

  /** The function; null where known values are left to the operation too. */
  DoubleUnaryOperator function() {
    return function;
  }
}
