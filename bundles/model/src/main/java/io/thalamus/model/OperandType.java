// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The type of an operand: one of NNAPI's types, or one that an extension defines. */
public sealed interface OperandType permits OperandCode, ExtensionOperandType {
  /** For people: {@code TENSOR_FLOAT32}, or {@code com.example/COMPLEX} for an extension's type. */
  String text();

  /** Returns whether a value has dimensions. */
  boolean isTensor();

  /** Bytes of one element; 0 for {@link OperandCode#SUBGRAPH}, which has no value. */
  int elementSize();
}
