// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.shell.bundles.Trial;
import io.thalamus.shell.bundles.Trials;
import io.thalamus.shell.failure.CommandException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Trials of devices that are only names. Used by one thread. */
final class FakeTrials implements Trials {
  final Set<String> available = new HashSet<>();

  /** What began and ended, in order. */
  final List<String> events = new ArrayList<>();

  @Override
  public Trial begin(String device) throws CommandException {
    if (!available.contains(device)) {
      throw new CommandException("no device " + device);
    }
    events.add("+" + device);
    return () -> events.add("-" + device);
  }
}
