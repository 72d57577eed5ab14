// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Period;

/**
 * The present work of a device, reported at intervals while somebody records: once for the whole
 * device, and once for each compilation of which executions run there or wait.
 */
@Name("thalamus.Load")
@Label("Load")
@Period("500 ms")
public final class LoadEvent extends CompilationEvent {
  private static final LoadEvent PROBE = new LoadEvent();

  @Label("Sample")
  @Description("The same for all that is reported at once; it grows")
  private long sample;

  @Label("Device")
  private String device;

  @Label("Running")
  @Description("Executions that hold a permit")
  private int running;

  @Label("Waiting")
  @Description("Executions that wait for a permit or stand back")
  private int waiting;

  @Label("Permits")
  @Description("Executions that may run at once, for the whole device; else 0")
  private int permits;

  @Label("Preemptions")
  @Description("How often executions have stood back since the device came; for one compilation 0")
  private long preemptions;

  /** Has a source tell the load at each interval, until it is removed; no effect without JFR. */
  public static void add(Runnable source) {
    if (IS_SUPPORTED) {
      FlightRecorder.addPeriodicEvent(LoadEvent.class, source);
    }
  }

  /** Removes a source that was added. */
  public static void remove(Runnable source) {
    if (IS_SUPPORTED) {
      FlightRecorder.removePeriodicEvent(source);
    }
  }

  /** Tells the load of a whole device. */
  public static void tell(
      long sample, String device, int running, int waiting, int permits, long preemptions) {
    tell(sample, device, CompilationLabel.PLANNING, running, waiting, permits, preemptions);
  }

  /** Tells the load of a device by one compilation. */
  public static void tell(
      long sample, String device, CompilationLabel label, int running, int waiting) {
    tell(sample, device, label, running, waiting, 0, 0);
  }

  private static void tell(
      long sample,
      String device,
      CompilationLabel label,
      int running,
      int waiting,
      int permits,
      long preemptions) {
    if (PROBE.isRecorded()) {
      LoadEvent event = new LoadEvent();
      event.setLabel(label);
      event.sample = sample;
      event.device = device;
      event.running = running;
      event.waiting = waiting;
      event.permits = permits;
      event.preemptions = preemptions;
      event.commit();
    }
  }
}
