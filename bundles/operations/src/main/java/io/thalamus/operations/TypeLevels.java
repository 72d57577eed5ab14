// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;

/**
 * The element types that an operation accepts, each with the HAL version that brought it there.
 * Immutable.
 */
public final class TypeLevels {
  /** No types. */
  public static final TypeLevels NONE = new TypeLevels(new EnumMap<>(OperandCode.class));

  private final Map<OperandCode, FeatureLevel> levels;

  private TypeLevels(Map<OperandCode, FeatureLevel> levels) {
    this.levels = levels;
  }

  /** These types since a version. */
  public static TypeLevels since(FeatureLevel level, OperandCode... types) {
    return new TypeLevels(new EnumMap<>(OperandCode.class)).andSince(level, types);
  }

  /** Returns TENSOR_FLOAT32 since a version, and TENSOR_FLOAT16, which came with HAL 1.2. */
  public static TypeLevels floats(FeatureLevel level) {
    return since(level, OperandCode.TENSOR_FLOAT32)
        .andSince(FeatureLevel.max(level, FeatureLevel.V1_2), OperandCode.TENSOR_FLOAT16);
  }

  /** Returns floats and TENSOR_QUANT8_ASYMM since a version, and its signed twin of HAL 1.3. */
  public static TypeLevels numbers(FeatureLevel level) {
    return floats(level)
        .andSince(level, OperandCode.TENSOR_QUANT8_ASYMM)
        .andSince(FeatureLevel.V1_3, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  }

  /**
   * Returns both types of 8-bit integers with a scale and a zero point, as extensions take them.
   */
  public static TypeLevels quantized8() {
    return since(
        FeatureLevel.V1_2, OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  }

  /** These and more types, which came with a version. */
  public TypeLevels andSince(FeatureLevel level, OperandCode... types) {
    EnumMap<OperandCode, FeatureLevel> all = new EnumMap<>(OperandCode.class);
    all.putAll(levels);
    for (OperandCode type : types) {
      all.put(type, level);
    }
    return new TypeLevels(all);
  }

  /** The version that brought a type; null where the operation does not accept it. */
  public FeatureLevel level(OperandCode type) {
    return levels.get(type);
  }

  /** All types. */
  public Set<OperandCode> types() {
    return levels.keySet();
  }
}
