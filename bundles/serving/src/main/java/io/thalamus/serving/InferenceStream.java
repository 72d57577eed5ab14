// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import org.osgi.annotation.versioning.ProviderType;

/**
 * Requests of one client that come in quick succession. While they do, each version that they name
 * executes them one after another, by a burst of its own. Thread-safe; closed by whoever opened it.
 */
@ProviderType
public interface InferenceStream extends AutoCloseable {
  /** Starts a request. Does not block; whatever is wrong is in the completion. */
  PendingInference infer(InferenceRequest request);

  /** Gives back its bursts once what has come is completed. Requests may come all the same. */
  @Override
  void close();
}
