// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import java.time.Duration;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Timespan;

/** A device that goes into quarantine, stays there or comes back. */
@Name("thalamus.Quarantine")
@Label("Quarantine")
public final class QuarantineEvent extends RuntimeEvent {
  private static final QuarantineEvent PROBE = new QuarantineEvent();

  @Label("Device")
  private String device;

  @Label("Change")
  @Description("begins, goes on or ends")
  private String change;

  @Label("Reason")
  private String reason;

  @Label("Until Next Probe")
  @Timespan(Timespan.MILLISECONDS)
  private long untilProbe;

  /**
   * Tells a change.
   *
   * @param untilProbe how long the device is left alone now
   */
  public static void tell(String device, String change, String reason, Duration untilProbe) {
    if (PROBE.isRecorded()) {
      QuarantineEvent event = new QuarantineEvent();
      event.device = device;
      event.change = change;
      event.reason = reason;
      event.untilProbe = untilProbe.toMillis();
      event.commit();
    }
  }
}
