// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A device whose kernels take known times of a clock that it moves; it asks before each of them.
 */
public final class TimedDevice extends FaultyDevice {
  private final SteppedTime time;
  private final AtomicInteger kernels = new AtomicInteger();
  private volatile Duration kernel;
  private volatile int count;

  /** A device that runs so many kernels of this time for each execution. */
  public TimedDevice(LimitedDevice inner, SteppedTime time, int count, Duration kernel) {
    super(inner);
    this.time = time;
    this.count = count;
    this.kernel = kernel;
    onExecute(this::execute);
  }

  /** Executions take so many kernels of this time from now on. */
  public void setKernels(int number, Duration each) {
    count = number;
    kernel = each;
  }

  private ExecutionResult execute(Request request, ExecutionConfig config) {
    for (int i = 0; i < count; i++) {
      if (config.control().checkpoint() != Signal.CONTINUE) {
        return new Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "asked to stop");
      }
      kernels.incrementAndGet();
      time.advance(kernel);
    }
    return null;
  }

  /** Returns how many kernels ran. */
  public int kernels() {
    return kernels.get();
  }
}
