// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

/** The rights that a route asks for. Without configured tokens everybody has all of them. */
public enum Access {
  /** Anybody: for probes. */
  OPEN,
  /** Looking: metadata, statistics, metrics, pages. */
  READ,
  /** Inferences. */
  INFER,
  /** Changes: loading, unloading, registering memory. */
  MANAGE
}
