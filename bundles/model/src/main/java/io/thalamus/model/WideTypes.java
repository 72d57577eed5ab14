// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.List;

/**
 * The operand types of the extension {@code io.thalamus}: numbers of 64 bits, which files give and
 * expect, and which operations of NNAPI do not take.
 */
public final class WideTypes {
  private static final String EXTENSION = "io.thalamus";

  /** Integers of 64 bits. */
  public static final ExtensionOperandType TENSOR_INT64 =
      new ExtensionOperandType(EXTENSION, 0, "TENSOR_INT64", true, Long.BYTES);

  /** Floating-point numbers of 64 bits. */
  public static final ExtensionOperandType TENSOR_FLOAT64 =
      new ExtensionOperandType(EXTENSION, 1, "TENSOR_FLOAT64", true, Double.BYTES);

  private WideTypes() {}

  /** Returns all of them. */
  public static List<ExtensionOperandType> all() {
    return List.of(TENSOR_INT64, TENSOR_FLOAT64);
  }
}
