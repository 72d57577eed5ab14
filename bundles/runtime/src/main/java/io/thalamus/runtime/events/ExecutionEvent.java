// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import io.thalamus.api.ResultCode;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A whole execution, from its start in the thread that executes until its result. */
@Name("thalamus.Execution")
@Label("Execution")
public final class ExecutionEvent extends CompilationEvent {
  private static final ExecutionEvent PROBE = new ExecutionEvent();
  private static final AtomicLong LAST = new AtomicLong();

  @Label("Execution")
  @Description("Number of the execution in this process; its steps have the same")
  private long execution;

  @Label("By Burst")
  private boolean byBurst;

  @Label("Code")
  @Description("Result code of NNAPI")
  private String code;

  @Label("Message")
  private String message;

  private transient CompilationLabel label;

  /** Starts an event; null if nobody records executions nor what belongs to them. */
  public static ExecutionEvent start(CompilationLabel label, boolean byBurst) {
    if (!PROBE.isRecorded() && !StepEvent.isWanted() && !DeadlineMissEvent.isWanted()) {
      return null;
    }
    ExecutionEvent event = new ExecutionEvent();
    event.label = label;
    event.setLabel(label);
    event.byBurst = byBurst;
    event.execution = LAST.incrementAndGet();
    event.begin();
    return event;
  }

  /** Returns the number of the execution. */
  public long execution() {
    return execution;
  }

  CompilationLabel label() {
    return label;
  }

  /** Ends the event with its result, and tells a missed deadline. */
  public void finish(ResultCode result, String text) {
    code = result.name();
    message = text;
    commit();
    DeadlineMissEvent.tell(label, "execution", result, text);
  }
}
