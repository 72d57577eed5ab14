// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.concurrent.CompletableFuture;

/** A request that was accepted. Thread-safe. */
public interface PendingInference {
  /**
   * Returns the completion: the answer, or a {@link ServingException}. It comes when nobody uses
   * the request's segments any more, after a cancellation too. It runs its actions in a thread of
   * the runtime, which must not be kept; completing or cancelling the future itself does nothing.
   */
  CompletableFuture<InferenceResponse> completion();

  /** Asks the execution to stop at its next checkpoint: the completion is CANCELLED soon. */
  void cancel();
}
