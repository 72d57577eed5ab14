// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

/** The purpose of a call: a device in quarantine takes only probes. */
public enum Purpose {
  /** A caller waits for the answer. */
  WORK,
  /** The device is tested. */
  PROBE
}
