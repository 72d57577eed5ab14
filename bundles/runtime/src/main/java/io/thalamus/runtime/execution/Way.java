// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

/** The ways in which a device is asked to execute a step. */
enum Way {
  /** By a call. */
  CALLED,
  /** By a call that waits for a fence. */
  FENCED,
  /** By a burst. */
  BY_BURST
}
