// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The supply of the accelerator over time, as one model uses it: idle, on its way up, or up at the
 * operating point of the model. It goes up for an execution or a burst, and falls back to {@link
 * OperatingPoints#IDLE} when for a while there was neither. Thread-safe; a time that is earlier
 * than that of another call counts as that.
 *
 * <p>A change of the voltage takes 2 C / I dV and loses (1 - n) C |V^2 - V0^2|: Burd and Brodersen,
 * "Design issues for dynamic voltage scaling", ISLPED 2000, with their efficiency n of 0.9. The
 * capacitance C of 10 uF and the current I of 0.2 A are assumptions: they give 40 us from 0.5 to
 * 0.9 V, where Kim, Gupta, Wei and Brooks, "System level analysis of fast, per-core DVFS using
 * on-chip switching regulators", HPCA 2008, speak of tens of microseconds. Then the clock locks, in
 * 10 us; the time after which the supply falls, of 1 ms, and that a fall takes no time, are
 * assumptions too. On its way up the chip leaks as it does when it is up.
 */
public final class PowerState {
  /** The time after the last use in which the supply stays up. */
  public static final long LINGER_NANOS = 1_000_000;

  private static final double FARADS = 10e-6;
  private static final double AMPERES = 0.2;
  private static final double EFFICIENCY = 0.9;
  private static final long LOCK_NANOS = 10_000;

  private final double idleWatts;
  private final double upWatts;
  private final double changeJoules;
  private final long rampNanos;
  private long now;
  private boolean isUp;

  /** When the clock runs; in the past once it does. Only while up. */
  private long runsFrom;

  /** When the last use ended; only while up and without use. */
  private long lastUse;

  private int bursts;
  private int executions;
  private int ramps;
  private double joules;

  /**
   * An idle supply.
   *
   * @param point of the model
   * @param now in nanoseconds, of any origin
   */
  public PowerState(PowerModel power, OperatingPoint point, long now) {
    double low = OperatingPoints.IDLE.volts();
    this.idleWatts = power.staticWatts(OperatingPoints.IDLE);
    this.upWatts = power.staticWatts(point);
    this.changeJoules =
        (1 - EFFICIENCY) * FARADS * Math.abs(point.volts() * point.volts() - low * low);
    this.rampNanos =
        LOCK_NANOS + Math.round(2 * FARADS / AMPERES * Math.abs(point.volts() - low) * 1e9);
    this.now = now;
  }

  /** Begins a burst: the supply goes up, and stays. */
  public synchronized void hold(long time) {
    advance(time);
    bursts++;
    goUp();
  }

  /** Ends a burst. */
  public synchronized void letGo(long time) {
    advance(time);
    bursts--;
    lastUse = now;
  }

  /**
   * Begins an execution.
   *
   * @return the nanoseconds until the clock runs; 0 while the supply is up
   */
  public synchronized long begin(long time) {
    advance(time);
    executions++;
    goUp();
    return Math.max(0, runsFrom - now);
  }

  /** Ends an execution. */
  public synchronized void end(long time) {
    advance(time);
    executions--;
    lastUse = now;
  }

  /** Returns the energy of leakage and of changes of the voltage up to a time, in joules. */
  public synchronized double joules(long time) {
    advance(time);
    return joules;
  }

  /** Returns how often the supply went up. */
  public synchronized int ramps() {
    return ramps;
  }

  /** Returns the time of a way up. */
  public long rampNanos() {
    return rampNanos;
  }

  private void goUp() {
    if (!isUp) {
      isUp = true;
      ramps++;
      runsFrom = now + rampNanos;
      joules += changeJoules;
    }
  }

  private void advance(long time) {
    if (time - now <= 0) {
      return;
    }
    if (isUp && bursts == 0 && executions == 0) {
      long falls = Math.max(lastUse, runsFrom) + LINGER_NANOS;
      if (time - falls >= 0) {
        leak(upWatts, falls);
        isUp = false;
        joules += changeJoules;
      }
    }
    leak(isUp ? upWatts : idleWatts, time);
  }

  private void leak(double watts, long until) {
    joules += watts * (until - now) * 1e-9;
    now = until;
  }
}
