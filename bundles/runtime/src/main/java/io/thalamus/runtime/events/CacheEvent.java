// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A look at the compilation cache for one step. */
@Name("thalamus.Cache")
@Label("Compilation Cache")
public final class CacheEvent extends RuntimeEvent {
  private static final CacheEvent PROBE = new CacheEvent();

  /** The results of a look at the cache. */
  public enum Outcome {
    /** The device restored the step. */
    HIT,
    /** The device restored the step, which is worth compiling anew. */
    STALE,
    /** Nothing was stored. */
    MISS,
    /** The device did not accept the files: damaged, tampered with, or of another version. */
    REFUSED,
    /** The files are in use elsewhere or cannot be opened, or the device had no time for them. */
    UNAVAILABLE
  }

  @Label("Device")
  private String device;

  @Label("Step")
  @Description("First operation by name and place, and how many more")
  private String step;

  @Label("Outcome")
  @Description("HIT, STALE, MISS, REFUSED or UNAVAILABLE")
  private String outcome;

  @Label("Message")
  private String message;

  /** Returns whether somebody records looks at the cache. */
  public static boolean isWanted() {
    return PROBE.isRecorded();
  }

  /** Tells how a look at the cache ended. */
  public static void tell(String device, String step, Outcome outcome, String message) {
    if (isWanted()) {
      CacheEvent event = new CacheEvent();
      event.device = device;
      event.step = step;
      event.outcome = outcome.name();
      event.message = message;
      event.commit();
    }
  }
}
