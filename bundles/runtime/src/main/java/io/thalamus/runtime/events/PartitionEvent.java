// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A model that is cut into steps for devices. */
@Name("thalamus.Partition")
@Label("Partition")
public final class PartitionEvent extends CompilationEvent {
  private static final PartitionEvent PROBE = new PartitionEvent();

  @Label("Policy")
  private String policy;

  @Label("Operations")
  private int operations;

  @Label("Steps")
  @Description("How many steps the plan has; 0 if there is none")
  private int steps;

  /** Starts an event; null if nobody records partitioning. */
  public static PartitionEvent start(CompilationLabel label, String policy, int operations) {
    if (!PROBE.isRecorded()) {
      return null;
    }
    PartitionEvent event = new PartitionEvent();
    event.setLabel(label);
    event.policy = policy;
    event.operations = operations;
    event.begin();
    return event;
  }

  /** Ends the event with the number of steps. */
  public void finish(int stepCount) {
    steps = stepCount;
    commit();
  }
}
