// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;

/**
 * Counts the work of one execution and passes the checkpoint when some milliseconds' worth has been
 * done, so that a long kernel can be paused, cancelled and overtaken by its deadline as a short one
 * can. Used by one thread; ends with its execution.
 */
public final class WorkMeter {
  /** Work between two checkpoints: accesses or multiply-accumulates of a plain loop. */
  private static final long INTERVAL = 1 << 18;

  private final ExecutionConfig config;
  private long left = INTERVAL;

  /** For one execution with these settings. */
  public WorkMeter(ExecutionConfig config) {
    this.config = config;
  }

  /**
   * Says that work has been done or is about to be done. If the execution is to end, this does not
   * return: its exception must not be caught.
   *
   * @param amount elements read, written or multiplied; cheap enough to be reported for each
   */
  public void done(long amount) {
    left -= amount;
    if (left < 0) {
      pass();
    }
  }

  private void pass() {
    left = INTERVAL;
    Failed stopped = Checkpoint.pass(config);
    if (stopped != null) {
      throw new StoppedException(stopped);
    }
  }
}
