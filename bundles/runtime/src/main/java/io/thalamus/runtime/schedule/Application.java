// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import java.util.Objects;

/**
 * The party that work is done for. Immutable. Devices are shared fairly between applications, and
 * the share of one is shared fairly between its clients.
 *
 * @param name of the bundle that asked for the service; empty for the runtime itself
 * @param client of the application, as it names it; empty for itself
 */
public record Application(String name, String client) {
  public Application {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(client, "client");
  }

  /** An application that has no clients. */
  public Application(String name) {
    this(name, "");
  }
}
