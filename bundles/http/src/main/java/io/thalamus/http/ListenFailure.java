// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

import java.util.Objects;

/**
 * The reason why a configured server does not listen: a service in the place of its {@link
 * HttpServer}, with the same properties, until its configuration changes. Immutable.
 *
 * @param reason one line for people
 */
public record ListenFailure(String reason) {
  public ListenFailure {
    Objects.requireNonNull(reason, "reason");
  }
}
