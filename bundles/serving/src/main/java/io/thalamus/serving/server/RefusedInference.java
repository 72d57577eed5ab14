// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import java.util.concurrent.CompletableFuture;

/** A request that failed before it was given to a version. */
final class RefusedInference implements PendingInference {
  private final Completion completion = new Completion();

  RefusedInference(ServingException failure) {
    completion.fail(failure);
  }

  @Override
  public CompletableFuture<InferenceResponse> completion() {
    return completion;
  }

  /** Does nothing: it has ended. */
  @Override
  public void cancel() {}
}
