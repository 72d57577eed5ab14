// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.model.ErrorStatus;

/** Calls of one way with one model, one after another. Used by one thread. */
@FunctionalInterface
interface Calls extends AutoCloseable {
  /**
   * Calls, and checks what the call leaves behind: with NONE the right results, after a deadline
   * that had passed in front no result at all.
   *
   * @param config of which preparing knows the deadline and the control
   */
  ErrorStatus run(ExecutionConfig config) throws Exception;

  @Override
  default void close() {
    // Preparing keeps nothing.
  }
}
