// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.util.concurrent.CompletableFuture;

/**
 * A moment in the future at which something is done, or has failed. Thread-safe. Whoever does the
 * work signals it once; anybody may wait.
 */
public final class SyncFence {
  private final CompletableFuture<Void> signal = new CompletableFuture<>();

  /** A fence that has signalled already. */
  public static SyncFence signalled() {
    SyncFence fence = new SyncFence();
    fence.signal();
    return fence;
  }

  /** The work is done. */
  public void signal() {
    signal.complete(null);
  }

  /** The work has failed. */
  public void fail(DeviceException reason) {
    signal.completeExceptionally(reason);
  }

  /** Returns whether it has signalled or failed. */
  public boolean isDone() {
    return signal.isDone();
  }

  /**
   * Completes when the fence signals, exceptionally where it fails. A copy: it cannot be misused.
   */
  public CompletableFuture<Void> future() {
    return signal.copy();
  }
}
