// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.OperandCode;

/**
 * The families of element types by which drivers register kernels. Stateless; arrays belong to the
 * caller.
 */
public final class ElementTypes {
  private ElementTypes() {}

  /** Returns both types of floats. */
  public static OperandCode[] floats() {
    return new OperandCode[] {TENSOR_FLOAT32, TENSOR_FLOAT16};
  }

  /** Returns both asymmetric 8-bit types. */
  public static OperandCode[] quantized8() {
    return new OperandCode[] {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED};
  }

  /** Returns floats and asymmetric 8-bit types: what stands for real numbers. */
  public static OperandCode[] reals() {
    return new OperandCode[] {
      TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
  }
}
