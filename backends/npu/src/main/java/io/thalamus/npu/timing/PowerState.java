// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The supply of the accelerator over time: idle, or at the operating point of the model that used
 * it last, or on its way there. It goes to the point of an execution, and up for a burst. When for
 * a while there was no execution, it goes to the fastest point that a burst holds, or to {@link
 * OperatingPoints#IDLE}. Thread-safe; a time that is earlier than that of another call counts as
 * that.
 *
 * <p>A change of the voltage takes 2 C / I dV and loses (1 - n) C |V^2 - V0^2|: Burd and Brodersen,
 * "Design issues for dynamic voltage scaling", ISLPED 2000, with their efficiency n of 0.9. The
 * capacitance C of 10 uF and the current I of 0.2 A are assumptions: they give 40 us from 0.5 to
 * 0.9 V, where Kim, Gupta, Wei and Brooks, "System level analysis of fast, per-core DVFS using
 * on-chip switching regulators", HPCA 2008, speak of tens of microseconds. Then the clock locks, in
 * 10 us; the time after which the supply falls, of 1 ms, and that a fall to idle takes no time, are
 * assumptions too. During a change the chip leaks as it does behind it.
 */
public final class PowerState {
  /** The time after the last use in which the supply stays where it is. */
  public static final long LINGER_NANOS = 1_000_000;

  private static final double FARADS = 10e-6;
  private static final double AMPERES = 0.2;
  private static final double EFFICIENCY = 0.9;
  private static final long LOCK_NANOS = 10_000;

  private final PowerModel power;

  /** The points that bursts hold, one for each burst. */
  private final List<OperatingPoint> held = new ArrayList<>();

  private OperatingPoint point = OperatingPoints.IDLE;
  private long now;

  /** The moment from which the clock runs; in the past once it does. Only while not idle. */
  private long runsFrom;

  /** The end of the last use; only without an execution. */
  private long lastUse;

  private int executions;
  private int ramps;
  private double joules;

  /**
   * An idle supply.
   *
   * @param now in nanoseconds, of any origin
   */
  public PowerState(PowerModel power, long now) {
    this.power = power;
    this.now = now;
    this.lastUse = now;
  }

  /** Begins a burst of a model at a point: the supply goes up to it if it is below. */
  public synchronized void hold(long time, OperatingPoint at) {
    advance(time);
    held.add(at);
    if (executions == 0 && at.hertz() > point.hertz()) {
      changeTo(at);
    }
  }

  /** Ends a burst of a model at a point. */
  public synchronized void letGo(long time, OperatingPoint at) {
    advance(time);
    held.remove(at);
    lastUse = now;
  }

  /**
   * Begins an execution of a model at a point.
   *
   * @return the nanoseconds until the clock runs; 0 while the supply is at that point
   */
  public synchronized long begin(long time, OperatingPoint at) {
    advance(time);
    executions++;
    if (!at.equals(point)) {
      changeTo(at);
    }
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

  /** Returns the time from idle to a point. */
  public static long rampNanos(OperatingPoint to) {
    return changeNanos(OperatingPoints.IDLE, to);
  }

  private static long changeNanos(OperatingPoint from, OperatingPoint to) {
    double volts = Math.abs(to.volts() - from.volts());
    return LOCK_NANOS + Math.round(2 * FARADS / AMPERES * volts * 1e9);
  }

  private void changeTo(OperatingPoint to) {
    if (to.hertz() > point.hertz()) {
      ramps++;
    }
    double squares = to.volts() * to.volts() - point.volts() * point.volts();
    joules += (1 - EFFICIENCY) * FARADS * Math.abs(squares);
    runsFrom = now + changeNanos(point, to);
    point = to;
  }

  /** Returns where it goes when nothing runs. */
  private OperatingPoint rest() {
    return held.stream()
        .max(Comparator.comparingDouble(OperatingPoint::hertz))
        .orElse(OperatingPoints.IDLE);
  }

  private void advance(long time) {
    if (time - now <= 0) {
      return;
    }
    OperatingPoint rest = executions == 0 ? rest() : point;
    if (!rest.equals(point)) {
      long falls = (lastUse - runsFrom > 0 ? lastUse : runsFrom) + LINGER_NANOS;
      if (time - falls >= 0) {
        leak(falls);
        changeTo(rest);
      }
    }
    leak(time);
  }

  private void leak(long until) {
    joules += power.staticWatts(point) * Math.max(0, until - now) * 1e-9;
    now = until - now > 0 ? until : now;
  }
}
