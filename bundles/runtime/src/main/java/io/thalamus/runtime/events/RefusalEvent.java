// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import io.thalamus.api.ResultCode;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** An execution that the runtime did not begin, for want of room or of time. */
@Name("thalamus.Refusal")
@Label("Refusal")
public final class RefusalEvent extends CompilationEvent {
  private static final RefusalEvent PROBE = new RefusalEvent();

  @Label("Code")
  @Description("Result code of NNAPI")
  private String code;

  @Label("Message")
  private String message;

  /** Tells a refusal, and the missed deadline if that was its cause. */
  public static void tell(CompilationLabel label, ResultCode code, String message) {
    if (PROBE.isRecorded()) {
      RefusalEvent event = new RefusalEvent();
      event.setLabel(label);
      event.code = code.name();
      event.message = message;
      event.commit();
    }
    DeadlineMissEvent.tell(label, "execution", code, message);
  }
}
