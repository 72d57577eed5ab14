// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

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

  /**
   * Waits for the end, whatever happens: up to there the execution uses the request's segments. An
   * interrupt cancels it.
   *
   * @throws ServingException of the completion
   */
  default InferenceResponse await() throws ServingException {
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return completion().get();
        } catch (InterruptedException e) {
          isInterrupted = true;
          cancel();
        } catch (ExecutionException e) {
          if (e.getCause() instanceof ServingException failure) {
            throw failure;
          }
          throw new IllegalStateException("a completion is an answer or a failure", e);
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
