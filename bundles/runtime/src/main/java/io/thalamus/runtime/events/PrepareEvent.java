// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import io.thalamus.api.ResultCode;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A step that a device prepares, be it compiled or restored. */
@Name("thalamus.Prepare")
@Label("Prepare")
public final class PrepareEvent extends CompilationEvent {
  private static final PrepareEvent PROBE = new PrepareEvent();

  @Label("Device")
  private String device;

  @Label("Step")
  @Description("First operation by name and place, and how many more")
  private String step;

  @Label("Origin")
  @Description("COMPILED, STORED, RESTORED or NOT_STORED; empty if it failed")
  private String origin;

  @Label("Code")
  @Description("Result code of NNAPI")
  private String code;

  @Label("Message")
  private String message;

  private transient CompilationLabel label;

  /** Starts an event; null if nobody records it nor deadlines. */
  public static PrepareEvent start(CompilationLabel label) {
    if (!PROBE.isRecorded() && !DeadlineMissEvent.isWanted()) {
      return null;
    }
    PrepareEvent event = new PrepareEvent();
    event.label = label;
    event.setLabel(label);
    event.begin();
    return event;
  }

  /** Ends the event with its result, and tells a missed deadline. */
  public void finish(String onDevice, String first, String madeBy, ResultCode result, String text) {
    device = onDevice;
    step = first;
    origin = madeBy;
    code = result.name();
    message = text;
    commit();
    DeadlineMissEvent.tell(label, "prepare", result, text);
  }
}
