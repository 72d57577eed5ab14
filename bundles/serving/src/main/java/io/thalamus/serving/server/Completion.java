// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.InferenceResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A future that only the server completes. Thread-safe. */
final class Completion extends CompletableFuture<InferenceResponse> {
  void answer(InferenceResponse response) {
    super.complete(response);
  }

  void fail(Exception failure) {
    super.completeExceptionally(failure);
  }

  @Override
  public boolean complete(InferenceResponse value) {
    return false;
  }

  @Override
  public boolean completeExceptionally(Throwable failure) {
    return false;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    return false;
  }

  @Override
  public void obtrudeValue(InferenceResponse value) {
    throw new UnsupportedOperationException("the answer is the server's");
  }

  @Override
  public void obtrudeException(Throwable failure) {
    throw new UnsupportedOperationException("the answer is the server's");
  }

  @Override
  public CompletableFuture<InferenceResponse> orTimeout(long timeout, TimeUnit unit) {
    return copy().orTimeout(timeout, unit);
  }

  @Override
  public CompletableFuture<InferenceResponse> completeOnTimeout(
      InferenceResponse value, long timeout, TimeUnit unit) {
    return copy().completeOnTimeout(value, timeout, unit);
  }

  /** Returns plain ones: what is derived from this may be completed by anybody. */
  @Override
  public <U> CompletableFuture<U> newIncompleteFuture() {
    return new CompletableFuture<>();
  }
}
