// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

/**
 * A time that was measured. Immutable.
 *
 * @param nanos how long; for bytes, each of them
 * @param seen when, in seconds since 1970
 */
record MeasuredTime(double nanos, long seen) {
  /** The subject of the cost of a step. Other subjects are signatures of operations. */
  static final String STEP = "step";

  /** The subject of the cost of a byte that crosses the boundary of a step. */
  static final String BYTE = "byte";

  /** The usual time of a step as a whole, with the signature of its model behind it. */
  static final String WHOLE = "whole:";

  /** The lower bound of that time. */
  static final String LEAST = "least:";
}
