// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import io.thalamus.api.ResultCode;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A deadline that was reached, or was expected to be. */
@Name("thalamus.DeadlineMiss")
@Label("Deadline Miss")
final class DeadlineMissEvent extends CompilationEvent {
  private static final DeadlineMissEvent PROBE = new DeadlineMissEvent();

  @Label("Phase")
  @Description("prepare or execution")
  private String phase;

  @Label("Code")
  @Description("Result code of NNAPI")
  private String code;

  @Label("Message")
  private String message;

  static boolean isWanted() {
    return PROBE.isRecorded();
  }

  /** Tells a missed deadline if the code is one. */
  static void tell(CompilationLabel label, String phase, ResultCode code, String message) {
    boolean isMiss =
        code == ResultCode.MISSED_DEADLINE_TRANSIENT
            || code == ResultCode.MISSED_DEADLINE_PERSISTENT;
    if (!isMiss || !isWanted()) {
      return;
    }
    DeadlineMissEvent event = new DeadlineMissEvent();
    event.setLabel(label);
    event.phase = phase;
    event.code = code.name();
    event.message = message;
    event.commit();
  }
}
