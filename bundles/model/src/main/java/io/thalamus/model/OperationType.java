// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The type of an operation: one of NNAPI's own, or one that an extension defines. */
public sealed interface OperationType permits OperationCode, ExtensionOperationType {
  /** For people: {@code CONV_2D}, or {@code io.thalamus/ERF} for an extension's operation. */
  String text();
}
