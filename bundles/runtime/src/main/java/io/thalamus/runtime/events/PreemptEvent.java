// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A running execution that stands back for another, until it goes on or ends. */
@Name("thalamus.Preempt")
@Label("Preempt")
public final class PreemptEvent extends CompilationEvent {
  private static final PreemptEvent PROBE = new PreemptEvent();

  @Label("Execution")
  @Description("Number of the execution that stands back; 0 if it began before the recording")
  private long execution;

  @Label("Device")
  private String device;

  @Label("For Application")
  private String forApplication;

  @Label("For Model")
  private String forModel;

  @Label("For Priority")
  private String forPriority;

  @Label("For Compilation")
  private long forCompilation;

  /** Starts an event; null if nobody records preemptions. */
  public static PreemptEvent start(
      String device, CompilationLabel label, long execution, CompilationLabel other) {
    if (!PROBE.isRecorded()) {
      return null;
    }
    PreemptEvent event = new PreemptEvent();
    event.setLabel(label);
    event.execution = execution;
    event.device = device;
    event.forApplication = other.application();
    event.forModel = other.model();
    event.forPriority = other.priority().name();
    event.forCompilation = other.id();
    event.begin();
    return event;
  }
}
