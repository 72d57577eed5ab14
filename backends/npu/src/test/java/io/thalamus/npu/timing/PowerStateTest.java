// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The supply over time, beside formulas that know nothing of its states. */
class PowerStateTest {
  private static final double LEAKAGE = 0.01;
  private static final PowerModel POWER = new PowerModel(256 << 10, LEAKAGE);
  private static final OperatingPoint BOOST = OperatingPoint.at("boost", 0.9);
  private static final OperatingPoint NOMINAL = OperatingPoint.at("nominal", 0.7);
  private static final OperatingPoint LOW = OperatingPoint.at("low", 0.5);
  private static final long MINUTE = 60_000_000_000L;

  // 2 * 10 uF / 0.2 A * 0.4 V = 40 us, and 10 us for the clock.
  private static final long RAMP = 50_000;
  private static final long LINGER = 1_000_000;

  // A tenth of 10 uF * (0.81 - 0.25) V^2.
  private static final double CHANGE = 0.56e-6;
  private static final double IDLE_WATTS = LEAKAGE * 0.5 / 0.9;

  private static final long EXECUTION = 49_000;
  private static final double EXECUTION_JOULES = 56e-6;

  private static PowerBudget minute(double rate, boolean isBurst) {
    return PowerBudget.of(POWER, BOOST, EXECUTION, EXECUTION_JOULES, rate, MINUTE, isBurst);
  }

  private static void assertJoules(double expected, PowerBudget budget) {
    assertEquals(expected, budget.joules(), 1e-9 * expected);
  }

  @Test
  void goesUpForAnExecutionAndFallsAWhileAfterTheLast() {
    PowerState supply = new PowerState(POWER, 100);
    assertEquals(RAMP, PowerState.rampNanos(BOOST));
    assertEquals(IDLE_WATTS * 1e-6, supply.joules(1100), 1e-18);
    assertEquals(RAMP, supply.begin(1100, BOOST));
    assertEquals(RAMP - 10, supply.begin(1110, BOOST), "a second one goes up with the first");
    supply.end(60_000);
    supply.end(70_000);
    assertEquals(0, supply.begin(70_000 + LINGER - 1, BOOST));
    supply.end(80_000 + LINGER);
    assertEquals(1, supply.ramps());
    double up = CHANGE + LEAKAGE * (78_900 + LINGER) * 1e-9 + IDLE_WATTS * 1e-6;
    assertEquals(up, supply.joules(80_000 + LINGER), 1e-12);
    double fallen = up + LEAKAGE * LINGER * 1e-9 + CHANGE + IDLE_WATTS * 5e-9;
    assertEquals(fallen, supply.joules(80_005 + 2 * LINGER), 1e-12);
    assertEquals(RAMP, supply.begin(80_005 + 2 * LINGER, BOOST));
  }

  @Test
  void staysUpWhileABurstHoldsIt() {
    PowerState supply = new PowerState(POWER, 0);
    supply.hold(0, BOOST);
    supply.hold(RAMP / 2, BOOST);
    supply.letGo(RAMP, BOOST);
    assertEquals(0, supply.begin(MINUTE, BOOST));
    supply.end(MINUTE + EXECUTION);
    supply.letGo(2 * MINUTE, BOOST);
    assertEquals(CHANGE + LEAKAGE * 120, supply.joules(2 * MINUTE), 1e-9);
    assertEquals(0, supply.begin(2 * MINUTE + LINGER - 1, BOOST), "the burst ended just now");
    supply.end(2 * MINUTE + LINGER);
    assertEquals(RAMP, supply.begin(2 * MINUTE + 2 * LINGER, BOOST));
  }

  @Test
  void timeNeverGoesBack() {
    PowerState supply = new PowerState(POWER, 0);
    supply.begin(1000, BOOST);
    double before = supply.joules(2000);
    supply.end(1500);
    assertEquals(before, supply.joules(1000));
  }

  @Test
  void slowerPointsAreNearer() {
    assertEquals(30_000, PowerState.rampNanos(NOMINAL));
    assertEquals(10_000, PowerState.rampNanos(LOW), "the clock");
  }

  /** 20 us from 0.7 to 0.9 V and 40 us from 0.5 to 0.9 V, each with the clock. */
  @Test
  void modelsAtOtherPointsChangeTheOneSupply() {
    PowerState supply = new PowerState(POWER, 0);
    assertEquals(30_000, supply.begin(0, NOMINAL));
    supply.end(40_000);
    assertEquals(30_000, supply.begin(50_000, BOOST));
    supply.end(100_000);
    assertEquals(50_000, supply.begin(110_000, LOW), "down takes as long as up");
    supply.end(200_000);
    assertEquals(2, supply.ramps());
    double changes = 2 * 1e-6 * (0.81 - 0.25);
    double leaked = LEAKAGE / 0.9 * (0.7 * 50e-6 + 0.9 * 60e-6 + 0.5 * 90e-6);
    assertEquals(changes + leaked, supply.joules(200_000), 1e-12);
  }

  @Test
  void aBurstGetsItsPointBackWhenOthersHaveRun() {
    PowerState supply = new PowerState(POWER, 0);
    supply.hold(0, NOMINAL);
    assertEquals(0, supply.begin(MINUTE, NOMINAL));
    supply.end(MINUTE + 1);
    assertEquals(50_000, supply.begin(MINUTE + 2, LOW) + 20_000);
    supply.end(MINUTE + 50_000);
    assertEquals(30_000, supply.begin(MINUTE + 60_000, NOMINAL), "not before it has lingered");
    supply.end(MINUTE + 100_000);
    assertEquals(30_000, supply.begin(MINUTE + 100_001, BOOST));
    supply.end(MINUTE + 200_000);
    assertEquals(0, supply.begin(2 * MINUTE, NOMINAL), "it had a minute for it");
    assertEquals(3, supply.ramps());
    supply.end(2 * MINUTE);
    supply.letGo(2 * MINUTE, NOMINAL);
    assertEquals(30_000, supply.begin(3 * MINUTE, NOMINAL), "nothing holds it");
  }

  /** Each request finds the chip idle: it pays a way up, and the burst saves it. */
  @ParameterizedTest
  @ValueSource(doubles = {0.5, 1, 30, 400})
  void atALowRateABurstCostsLeakageAndSavesLatency(double rate) {
    long count = Math.round(60 * rate);
    double busy = count * (RAMP + EXECUTION + LINGER) * 1e-9;
    PowerBudget without = minute(rate, false);
    assertEquals(count, without.executions());
    assertEquals(count, without.ramps());
    assertEquals(RAMP + EXECUTION, without.meanNanos());
    assertEquals(RAMP + EXECUTION, without.worstNanos());
    assertJoules(
        count * (EXECUTION_JOULES + 2 * CHANGE) + LEAKAGE * busy + IDLE_WATTS * (60 - busy),
        without);
    PowerBudget with = minute(rate, true);
    assertEquals(count, with.executions());
    assertEquals(1, with.ramps());
    assertEquals(EXECUTION, with.meanNanos());
    assertJoules(count * EXECUTION_JOULES + CHANGE + LEAKAGE * 60, with);
    assertTrue(with.joules() > without.joules());
  }

  /** 1105 us from one request to the next: each fall pays for 6 us of idling. */
  @Test
  void aLittleBelowTheLingerABurstSavesBoth() {
    double rate = 905;
    long count = Math.round(60 * rate);
    // The minute ends half a distance after the last request, before the chip falls.
    double busy = (count - 1) * (RAMP + EXECUTION + LINGER) * 1e-9 + 0.5 / rate;
    PowerBudget without = minute(rate, false);
    PowerBudget with = minute(rate, true);
    assertJoules(
        count * EXECUTION_JOULES
            + (2 * count - 1) * CHANGE
            + LEAKAGE * busy
            + IDLE_WATTS * (60 - busy),
        without);
    assertTrue(with.joules() < without.joules());
    assertTrue(with.meanNanos() < without.meanNanos());
  }

  /** The chip never falls. */
  @Test
  void atAHighRateABurstSavesTheFirstWayUpAlone() {
    double rate = 5000;
    PowerBudget without = minute(rate, false);
    PowerBudget with = minute(rate, true);
    assertEquals(1, without.ramps());
    assertEquals(300_000, without.executions());
    assertJoules(
        300_000 * EXECUTION_JOULES + CHANGE + IDLE_WATTS * 100e-6 + LEAKAGE * (60 - 100e-6),
        without);
    assertJoules(300_000 * EXECUTION_JOULES + CHANGE + LEAKAGE * 60, with);
    assertEquals(EXECUTION + RAMP, without.worstNanos());
    assertEquals(EXECUTION, with.worstNanos());
  }

  @Test
  void requestsThatComeTooFastWaitForEachOther() {
    PowerBudget with = minute(40_000, true);
    assertEquals((MINUTE - RAMP) / EXECUTION, with.executions());
    assertEquals(1, with.ramps());
    assertTrue(with.worstNanos() > MINUTE / 3);
    assertThrows(IllegalArgumentException.class, () -> minute(0, true));
  }
}
