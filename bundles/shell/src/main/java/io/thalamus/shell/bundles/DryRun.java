// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.console.CommandException;

/**
 * A device that is here to be looked at: a plan can name it, and no model moves to it. Owned by
 * whoever began it; closing takes its bundle away again.
 */
public interface DryRun extends AutoCloseable {
  /**
   * Ends the trial.
   *
   * @throws CommandException where the bundle does not go
   */
  @Override
  void close();
}
