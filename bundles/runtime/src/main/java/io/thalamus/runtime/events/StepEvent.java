// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import io.thalamus.api.ResultCode;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Timespan;

/** One attempt of a device at a step of an execution. */
@Name("thalamus.Step")
@Label("Step")
public final class StepEvent extends CompilationEvent {
  private static final StepEvent PROBE = new StepEvent();

  @Label("Execution")
  @Description("Number of the execution in this process")
  private long execution;

  @Label("Device")
  private String device;

  @Label("Step")
  @Description("First operation by name and place, and how many more")
  private String step;

  @Label("Operations")
  private int operations;

  @Label("By Burst")
  private boolean byBurst;

  @Label("Waited")
  @Description("For permits of the device, and in pauses")
  @Timespan(Timespan.NANOSECONDS)
  private long waited;

  @Label("Code")
  @Description("Result code of NNAPI")
  private String code;

  /** Starts an event; null if nobody records steps. */
  public static StepEvent start(ExecutionEvent whole) {
    if (whole == null || !isWanted()) {
      return null;
    }
    StepEvent event = new StepEvent();
    event.setLabel(whole.label());
    event.execution = whole.execution();
    event.begin();
    return event;
  }

  static boolean isWanted() {
    return PROBE.isRecorded();
  }

  /** Ends the event with what was done, and how long it waited for the device. */
  public void finish(
      String onDevice,
      String first,
      int operationCount,
      boolean wasByBurst,
      long waitedNanos,
      ResultCode result) {
    device = onDevice;
    step = first;
    operations = operationCount;
    byBurst = wasByBurst;
    waited = waitedNanos;
    code = result.name();
    commit();
  }
}
