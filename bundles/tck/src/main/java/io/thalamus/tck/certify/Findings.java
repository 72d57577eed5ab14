// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Probes;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.util.List;
import java.util.function.Consumer;

/** Collects what a group finds. Used by the thread that runs the group. */
record Findings(String group, Device device, Consumer<Finding> target) {
  void add(String name, Outcome outcome) {
    target.accept(new Finding(group, name, outcome));
  }

  /** Adds a check of a single condition. */
  void check(String name, boolean holds, String otherwise) {
    add(name, holds ? Outcome.PASSED : new Outcome.Failed(otherwise));
  }

  void skip(String name, String reason) {
    add(name, new Outcome.Skipped(reason));
  }

  /** Runs a check; whatever it throws is a fault of the device. */
  void run(String name, Check.Body body) throws InterruptedException {
    add(name, Check.run(body));
  }

  void run(List<Check> checks) throws InterruptedException {
    for (Check check : checks) {
      run(check.name(), check.body());
    }
  }

  /** Runs a check of an example that is prepared on the device. */
  void prepared(String name, Example example, Probes.Use use) throws InterruptedException {
    run(name, () -> Probes.prepared(device, example, use));
  }
}
