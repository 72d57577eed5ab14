// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.util.Optional;

/** A test that a device has to pass before it serves again. Thread-safe; closed by its owner. */
public interface Probe extends AutoCloseable {
  /** Has a device compute, and returns why it must not serve again; empty when it may. */
  Optional<String> failure(RegisteredDevice device);

  @Override
  void close();
}
