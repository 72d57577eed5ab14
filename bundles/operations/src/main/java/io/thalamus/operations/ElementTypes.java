// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

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

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.WideTypes;

/**
 * The families of element types that operations take, and by which drivers register kernels.
 * Stateless; arrays belong to the caller.
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

  /** Returns floats, 32-bit integers and asymmetric 8-bit types. */
  public static OperandCode[] numbers() {
    return new OperandCode[] {
      TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
  }

  /** Returns numbers and truth values. */
  public static OperandCode[] numbersAndTruth() {
    return new OperandCode[] {
      TENSOR_FLOAT32,
      TENSOR_FLOAT16,
      TENSOR_INT32,
      TENSOR_BOOL8,
      TENSOR_QUANT8_ASYMM,
      TENSOR_QUANT8_ASYMM_SIGNED
    };
  }

  /** Returns the types of elements that the extension moves, whatever they stand for. */
  public static OperandCode[] movable() {
    return new OperandCode[] {
      TENSOR_FLOAT32,
      TENSOR_FLOAT16,
      TENSOR_INT32,
      TENSOR_BOOL8,
      TENSOR_QUANT16_SYMM,
      TENSOR_QUANT8_ASYMM,
      TENSOR_QUANT8_ASYMM_SIGNED
    };
  }

  /** Returns all types of tensors. */
  public static OperandCode[] tensors() {
    return new OperandCode[] {
      TENSOR_FLOAT32,
      TENSOR_FLOAT16,
      TENSOR_INT32,
      TENSOR_BOOL8,
      TENSOR_QUANT8_ASYMM,
      TENSOR_QUANT8_ASYMM_SIGNED,
      TENSOR_QUANT8_SYMM,
      TENSOR_QUANT8_SYMM_PER_CHANNEL,
      TENSOR_QUANT16_ASYMM,
      TENSOR_QUANT16_SYMM
    };
  }

  /** Returns the types that RESCALE takes and gives. */
  public static OperandCode[] rescalable() {
    return new OperandCode[] {
      TENSOR_INT32, TENSOR_QUANT16_SYMM, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
  }

  /** Returns the types that the extension casts. */
  public static OperandType[] castable() {
    return new OperandType[] {
      WideTypes.TENSOR_INT64,
      WideTypes.TENSOR_FLOAT64,
      TENSOR_FLOAT32,
      TENSOR_INT32,
      TENSOR_BOOL8,
      TENSOR_QUANT16_SYMM,
      TENSOR_QUANT16_ASYMM,
      TENSOR_QUANT8_ASYMM,
      TENSOR_QUANT8_ASYMM_SIGNED
    };
  }
}
