// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Arrays;
import java.util.Optional;

/** The operand types of NNAPI 1.0 to 1.3, spelled and numbered as there. */
public enum OperandCode implements OperandType {
  FLOAT32(0, false, 4, FeatureLevel.V1_0),
  INT32(1, false, 4, FeatureLevel.V1_0),
  UINT32(2, false, 4, FeatureLevel.V1_0),
  TENSOR_FLOAT32(3, true, 4, FeatureLevel.V1_0),
  TENSOR_INT32(4, true, 4, FeatureLevel.V1_0),
  TENSOR_QUANT8_ASYMM(5, true, 1, FeatureLevel.V1_0),
  BOOL(6, false, 1, FeatureLevel.V1_2),
  TENSOR_QUANT16_SYMM(7, true, 2, FeatureLevel.V1_2),
  TENSOR_FLOAT16(8, true, 2, FeatureLevel.V1_2),
  TENSOR_BOOL8(9, true, 1, FeatureLevel.V1_2),
  FLOAT16(10, false, 2, FeatureLevel.V1_2),
  TENSOR_QUANT8_SYMM_PER_CHANNEL(11, true, 1, FeatureLevel.V1_2),
  TENSOR_QUANT16_ASYMM(12, true, 2, FeatureLevel.V1_2),
  TENSOR_QUANT8_SYMM(13, true, 1, FeatureLevel.V1_2),
  TENSOR_QUANT8_ASYMM_SIGNED(14, true, 1, FeatureLevel.V1_3),
  SUBGRAPH(15, false, 0, FeatureLevel.V1_3);

  private final int code;
  private final boolean tensor;
  private final int elementSize;
  private final FeatureLevel introducedIn;

  OperandCode(int code, boolean tensor, int elementSize, FeatureLevel introducedIn) {
    this.code = code;
    this.tensor = tensor;
    this.elementSize = elementSize;
    this.introducedIn = introducedIn;
  }

  /** NNAPI's number. */
  public int code() {
    return code;
  }

  /** The first version of the HAL that has this type. */
  public FeatureLevel introducedIn() {
    return introducedIn;
  }

  @Override
  public String text() {
    return name();
  }

  @Override
  public boolean isTensor() {
    return tensor;
  }

  @Override
  public int elementSize() {
    return elementSize;
  }

  /** The type with this number, or empty where NNAPI 1.3 has none. */
  public static Optional<OperandCode> ofCode(int code) {
    return Arrays.stream(values()).filter(type -> type.code == code).findFirst();
  }
}
