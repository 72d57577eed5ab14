// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Wraps a device, counts what it waits for, and does what a test says. */
public final class FencedDevice extends DelegatingDevice {
  /** The numbers of calls with a fence, and without. */
  public final AtomicInteger fenced = new AtomicInteger();

  public final AtomicInteger plain = new AtomicInteger();

  /** True if it waits for its fences. */
  public volatile boolean waits = true;

  /** True if it measures its time when it is asked. */
  public volatile boolean measures = true;

  /** The number of its fences that have failed. */
  public final AtomicInteger failures = new AtomicInteger();

  /** The time that it claims to have waited for its fences. */
  public volatile Duration waited = Duration.ZERO;

  private volatile Computing before = config -> null;

  /** Is called before it computes; its result is returned where it is not null. */
  @FunctionalInterface
  public interface Computing {
    ExecutionResult instead(ExecutionConfig config) throws Exception;
  }

  public FencedDevice(Device inner) {
    super(inner);
  }

  public FencedDevice onCompute(Computing value) {
    before = value;
    return this;
  }

  private void record(Throwable failure) {
    if (failure != null) {
      failures.incrementAndGet();
    }
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return new DelegatingPreparedModel(this, super.prepare(model, config)) {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig settings) {
        plain.incrementAndGet();
        return compute(request, settings);
      }

      private ExecutionResult compute(Request request, ExecutionConfig settings) {
        try {
          ExecutionResult instead = before.instead(settings);
          return instead != null
              ? instead
              : super.execute(
                  request, settings.withMeasureTiming(measures && settings.measureTiming()));
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }

      @Override
      public FencedExecution executeFenced(
          Request request, List<SyncFence> waitFor, ExecutionConfig settings)
          throws DeviceException {
        fenced.incrementAndGet();
        waitFor.forEach(fence -> fence.future().whenComplete((_, failure) -> record(failure)));
        if (waits) {
          SyncFence.await(waitFor, settings);
        }
        return FencedExecution.ended(compute(request, settings.fromNowOn()), waited);
      }
    };
  }
}
