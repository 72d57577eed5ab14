// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.console.CommandException;

/** Lets plans ask devices of the distribution that are not installed. Thread-safe. */
public interface DryRuns {
  /**
   * Begins a trial; others who want one wait until it ends.
   *
   * @param device the short name of a device bundle of the distribution
   * @throws CommandException where the distribution has none of that name, it is here already, or
   *     its device does not come
   */
  DryRun begin(String device);
}
