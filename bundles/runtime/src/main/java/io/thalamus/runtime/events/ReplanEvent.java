// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A compilation that is planned again in the background. */
@Name("thalamus.Replan")
@Label("Re-plan")
public final class ReplanEvent extends CompilationEvent {
  private static final ReplanEvent PROBE = new ReplanEvent();

  @Label("Outcome")
  @Description("moved, unchanged or failed")
  private String outcome;

  @Label("Message")
  private String message;

  /** Starts an event; null if nobody records re-plans. */
  public static ReplanEvent start(CompilationLabel label) {
    if (!PROBE.isRecorded()) {
      return null;
    }
    ReplanEvent event = new ReplanEvent();
    event.setLabel(label);
    event.begin();
    return event;
  }

  /** Ends the event: with the exchanged plan, the same one, or a failure. */
  public void finish(String result, String text) {
    outcome = result;
    message = text;
    commit();
  }
}
