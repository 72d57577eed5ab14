// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** The wait of an execution for a permit of a device. */
@Name("thalamus.Wait")
@Label("Wait")
public final class WaitEvent extends CompilationEvent {
  private static final WaitEvent PROBE = new WaitEvent();

  @Label("Execution")
  @Description("Number of the execution; 0 if it began before the recording")
  private long execution;

  @Label("Device")
  private String device;

  /** Starts an event, which is committed if there is a wait; null if nobody records them. */
  public static WaitEvent start(String device, CompilationLabel label, long execution) {
    if (!PROBE.isRecorded()) {
      return null;
    }
    WaitEvent event = new WaitEvent();
    event.setLabel(label);
    event.execution = execution;
    event.device = device;
    event.begin();
    return event;
  }
}
