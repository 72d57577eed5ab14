// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.model.NanoClock;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.machine.Sram;
import io.thalamus.npu.timing.PowerModel;
import io.thalamus.npu.timing.PowerState;
import java.util.function.BooleanSupplier;

/**
 * The part of the device that there is once: its clock, its supply, the queue of those that want
 * it, the memory on it, and what it has done. Thread-safe.
 */
final class Chip implements AutoCloseable {
  private final Architecture architecture;
  private final BooleanSupplier isLeaving;
  private final DeviceClock clock;
  private final DeviceQueue queue;
  private final PowerState supply;
  private Sram sram;
  private NpuActivity done = NpuActivity.NONE;

  /**
   * An idle chip.
   *
   * @param power what it draws
   * @param host the clock that it goes by while it is idle
   * @param isLeaving whether the device is about to leave, before it is closed
   */
  Chip(Architecture architecture, PowerModel power, NanoClock host, BooleanSupplier isLeaving) {
    this.architecture = architecture;
    this.isLeaving = isLeaving;
    this.clock = new DeviceClock(host);
    this.queue = new DeviceQueue(clock);
    this.supply = new PowerState(power, clock.nanoTime());
  }

  Architecture architecture() {
    return architecture;
  }

  DeviceClock clock() {
    return clock;
  }

  DeviceQueue queue() {
    return queue;
  }

  PowerState supply() {
    return supply;
  }

  /** Returns whether those that wait are to give up. */
  boolean isLeaving() {
    return isLeaving.getAsBoolean();
  }

  /** Returns the memory, which only the caller that has the device may use. */
  synchronized Sram sram() {
    if (sram == null) {
      sram = new Sram(architecture.scratchpad(), architecture.accumulators());
    }
    return sram;
  }

  /** Adds the work of one execution. */
  synchronized void count(NpuActivity more) {
    done = done.plus(more);
  }

  NpuActivity activity() {
    int waiting = queue.waiting();
    synchronized (this) {
      return done.plus(new NpuActivity(0, 0, 0, 0, 0, 0, 0, waiting));
    }
  }

  @Override
  public void close() {
    queue.close();
  }
}
