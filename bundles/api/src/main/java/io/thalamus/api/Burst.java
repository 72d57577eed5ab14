// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import org.osgi.annotation.versioning.ProviderType;

/**
 * A quick succession of executions of one compilation: NNAPI's ANeuralNetworksBurst. It keeps what
 * one execution needs for the next, and each device of the plan is sent its requests through a fast
 * message queue if it can be. While it is open it is a hint that more executions come soon.
 *
 * <p>Thread-safe: as many threads as its depth may execute by it at once, and {@link #close} may be
 * called by any. Owned by whoever created it; closed at the latest with its compilation. It follows
 * the plans of the compilation when devices come and go.
 */
@ProviderType
public interface Burst extends AutoCloseable {
  /** Returns what went by it until now. */
  BurstInfo describe();

  /**
   * Refuses executions from now on, and gives back what it holds once those that run are over.
   * Calling it again does nothing.
   */
  @Override
  void close();
}
