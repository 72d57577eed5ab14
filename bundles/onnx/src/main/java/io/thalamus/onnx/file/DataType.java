// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.WideTypes;
import java.util.Optional;

/** The element types of ONNX that this reader knows, by their numbers. */
public enum DataType {
  FLOAT(1, Elements.FLOAT32, OperandCode.TENSOR_FLOAT32),
  UINT8(2, Elements.UINT8, OperandCode.TENSOR_QUANT8_ASYMM),
  INT8(3, Elements.INT8, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED),
  UINT16(4, Elements.UINT16, OperandCode.TENSOR_INT32),
  INT16(5, Elements.INT16, OperandCode.TENSOR_INT32),
  INT32(6, Elements.INT32, OperandCode.TENSOR_INT32),
  INT64(7, Elements.INT64, OperandCode.TENSOR_INT32),
  BOOL(9, Elements.BOOL8, OperandCode.TENSOR_BOOL8),
  FLOAT16(10, Elements.FLOAT16, OperandCode.TENSOR_FLOAT32),
  DOUBLE(11, Elements.FLOAT64, OperandCode.TENSOR_FLOAT32),
  UINT32(12, Elements.UINT32, OperandCode.TENSOR_INT32),

  /** As INT64. */
  UINT64(13, Elements.INT64, OperandCode.TENSOR_INT32),

  /** Two in a byte of a file, and one in a byte here. */
  UINT4(21, Elements.UINT8, OperandCode.TENSOR_QUANT8_ASYMM),
  INT4(22, Elements.INT8, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private final int code;
  private final Elements elements;
  private final OperandCode operand;

  DataType(int code, Elements elements, OperandCode operand) {
    this.code = code;
    this.elements = elements;
    this.operand = operand;
  }

  /** ONNX's number. */
  public int code() {
    return code;
  }

  /** The format of one element in a file. */
  public Elements elements() {
    return elements;
  }

  /**
   * The type of operands that hold such values within a graph. Those of 64-bit and of 16-bit
   * integers are INT32, and so are those of UINT32, by their bits; 8-bit integers are quantized
   * with scale 1, so that they stand for themselves; FLOAT16, BFLOAT16 and DOUBLE are computed in
   * single precision.
   */
  public Optional<OperandCode> operand() {
    return Optional.ofNullable(operand);
  }

  /** The type of operands by which a caller gives and gets such values. */
  public Optional<OperandType> argument() {
    return switch (this) {
      case FLOAT16 -> Optional.of(OperandCode.TENSOR_FLOAT16);
      case INT64, UINT64 -> Optional.of(WideTypes.TENSOR_INT64);
      case INT16 -> Optional.of(OperandCode.TENSOR_QUANT16_SYMM);
      case UINT16 -> Optional.of(OperandCode.TENSOR_QUANT16_ASYMM);
      case DOUBLE -> Optional.of(WideTypes.TENSOR_FLOAT64);
      default -> Optional.ofNullable(operand);
    };
  }

  /** Returns whether elements are real numbers. */
  public boolean isFloat() {
    return elements.isFloat();
  }

  /** Returns whether elements are integers that take 8 bits here. */
  public boolean is8Bit() {
    return this == UINT8 || this == INT8 || is4Bit();
  }

  /** Returns the least finite number. */
  public double least() {
    return this == INT4 ? -8 : elements.least();
  }

  /** Returns the largest finite number. */
  public double most() {
    return this == INT4 ? 7 : this == UINT4 ? 15 : elements.most();
  }

  /** Returns whether elements are integers of 16 bits. */
  public boolean is16Bit() {
    return this == UINT16 || this == INT16;
  }

  /** Returns whether a file has two elements in a byte. */
  public boolean is4Bit() {
    return this == UINT4 || this == INT4;
  }

  /** Returns whether elements are integers that take 8 bits here, one of which is the sign. */
  public boolean isSigned8Bit() {
    return this == INT8 || this == INT4;
  }

  /** ONNX's number of BFLOAT16, the upper half of a FLOAT, which values of it become. */
  public static final int BFLOAT16 = 16;

  /** What ONNX has for texts, which no operand holds. */
  public static final int STRING = 8;

  /** The type with a number. */
  public static Optional<DataType> of(int code) {
    if (code == BFLOAT16) {
      return Optional.of(FLOAT);
    }
    for (DataType type : values()) {
      if (type.code == code) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }

  /** A name for people, also of types that are unknown here. */
  public static String text(int code) {
    return of(code)
        .map(DataType::name)
        .orElseGet(
            () ->
                switch (code) {
                  case 0 -> "no type";
                  case STRING -> "STRING";
                  case 14 -> "COMPLEX64";
                  case 15 -> "COMPLEX128";
                  case 16 -> "BFLOAT16";
                  default -> "type " + code;
                });
  }
}
