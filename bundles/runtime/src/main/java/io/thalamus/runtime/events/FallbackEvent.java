// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A step that is repeated on another device. */
@Name("thalamus.Fallback")
@Label("Fallback")
public final class FallbackEvent extends CompilationEvent {
  private static final FallbackEvent PROBE = new FallbackEvent();

  @Label("Device")
  @Description("Device that failed")
  private String device;

  @Label("Reason")
  private String reason;

  /** Tells that what failed on a device is repeated elsewhere. */
  public static void tell(CompilationLabel label, String device, String reason) {
    if (PROBE.isRecorded()) {
      FallbackEvent event = new FallbackEvent();
      event.setLabel(label);
      event.device = device;
      event.reason = reason;
      event.commit();
    }
  }
}
