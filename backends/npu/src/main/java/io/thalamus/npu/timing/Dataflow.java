// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The operand of a product that stays in the array while the others stream through, with the
 * mapping of table III of Samajdar et al., ISPASS 2020. Immutable.
 */
public enum Dataflow {
  /** The filters stay: k over the rows, n over the columns, m in time. */
  WEIGHT_STATIONARY,
  /** The sums stay: m over the rows, n over the columns, k in time. */
  OUTPUT_STATIONARY,
  /** The inputs stay: k over the rows, m over the columns, n in time. */
  INPUT_STATIONARY
}
