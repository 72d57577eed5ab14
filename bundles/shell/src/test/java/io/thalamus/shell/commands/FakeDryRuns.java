// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.CommandException;
import io.thalamus.shell.bundles.DryRun;
import io.thalamus.shell.bundles.DryRuns;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** DryRuns of devices that are only names. Used by one thread. */
final class FakeDryRuns implements DryRuns {
  final Set<String> available = new HashSet<>();

  /** The trials that began and ended, in order. */
  final List<String> events = new ArrayList<>();

  @Override
  public DryRun begin(String device) throws CommandException {
    if (!available.contains(device)) {
      throw new CommandException("no device " + device);
    }
    events.add("+" + device);
    return () -> events.add("-" + device);
  }
}
