// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/**
 * The resolved parameters of one operation: explicit paddings, strides, clamp ranges, multipliers.
 * Each family has its own records.
 */
public interface OperationParameters {
  /** The operation has none. */
  OperationParameters NONE = new OperationParameters() {};
}
