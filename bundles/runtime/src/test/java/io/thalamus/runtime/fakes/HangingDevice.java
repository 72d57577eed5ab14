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
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Wraps a device, and does not return from the calls that a test names, whatever interrupts it,
 * until the test lets it.
 */
public final class HangingDevice extends DelegatingDevice {
  private static final long PATIENCE_SECONDS = 60;

  /** The calls that can hang. */
  public enum Call {
    INFO,
    SUPPORTED_OPERATIONS,
    PREPARE,
    EXECUTE,
    CLOSE
  }

  private final Set<Call> hanging = EnumSet.noneOf(Call.class);
  private CountDownLatch gate = new CountDownLatch(1);
  private CountDownLatch inside = new CountDownLatch(1);

  public HangingDevice(Device inner) {
    super(inner);
  }

  /** From now on, such calls hang. */
  public synchronized HangingDevice hang(Call call) {
    hanging.add(call);
    inside = new CountDownLatch(1);
    return this;
  }

  /** Calls that hang return, and later ones do not hang. */
  public synchronized void letGo() {
    hanging.clear();
    gate.countDown();
    gate = new CountDownLatch(1);
  }

  /** Later calls do not hang; those that do go on with it. */
  public synchronized void recover() {
    hanging.clear();
  }

  /** Waits until a call hangs. */
  public void awaitInside() throws InterruptedException {
    CountDownLatch mine;
    synchronized (this) {
      mine = inside;
    }
    if (!mine.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("no call came");
    }
  }

  private void pass(Call call) {
    CountDownLatch mine;
    synchronized (this) {
      if (!hanging.contains(call)) {
        return;
      }
      mine = gate;
      inside.countDown();
    }
    boolean isOpen = false;
    while (!isOpen) {
      try {
        isOpen = mine.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        // What the fake is for: a driver that ignores interrupts.
        continue;
      }
    }
  }

  @Override
  public DeviceInfo info() {
    pass(Call.INFO);
    return super.info();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    pass(Call.SUPPORTED_OPERATIONS);
    return super.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    pass(Call.PREPARE);
    return new DelegatingPreparedModel(this, super.prepare(model, config)) {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
        pass(Call.EXECUTE);
        return super.execute(request, executionConfig);
      }

      @Override
      public FencedExecution executeFenced(
          Request request, List<SyncFence> waitFor, ExecutionConfig executionConfig)
          throws DeviceException {
        SyncFence.await(waitFor, executionConfig);
        return FencedExecution.ended(execute(request, executionConfig.fromNowOn()), Duration.ZERO);
      }

      @Override
      public void close() {
        pass(Call.CLOSE);
        super.close();
      }
    };
  }
}
