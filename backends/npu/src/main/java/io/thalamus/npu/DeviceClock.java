// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.model.NanoClock;

/**
 * The time of the simulated device. While it works, its time is what the commands take on the
 * hardware, however long the host computes them; while it stands idle, it goes with the host's.
 * Never goes back. Thread-safe; only the caller that holds the device moves it on.
 */
final class DeviceClock implements NanoClock {
  private final NanoClock host;
  private long hostBefore;
  private boolean isWorking;

  /** Written by the holder of the device while it works, else under the lock. */
  private volatile long now;

  /** An idle device, whose time is the host's. */
  DeviceClock(NanoClock host) {
    this.host = host;
    this.hostBefore = host.nanoTime();
    this.now = hostBefore;
  }

  @Override
  public synchronized long nanoTime() {
    follow();
    return now;
  }

  private void follow() {
    if (!isWorking) {
      long host = this.host.nanoTime();
      now += Math.max(0, host - hostBefore);
      hostBefore = host;
    }
  }

  /** Begins to count what the hardware takes. */
  synchronized void startWork() {
    follow();
    isWorking = true;
  }

  /** Goes with the host's time again. */
  synchronized void stopWork() {
    isWorking = false;
    hostBefore = host.nanoTime();
  }

  /** Returns the time while the device works, without a lock. */
  long working() {
    return now;
  }

  /** Moves on to a time, if that is not behind it; only while the device works. */
  void advanceTo(long time) {
    if (time - now > 0) {
      now = time;
    }
  }
}
