// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ExecutionPreference;
import org.junit.jupiter.api.Test;

class PowerModelTest {
  private static final OperatingPoint TABLE = OperatingPoint.at("table", 0.9);
  private static final long MILLION = 1_000_000;

  private static double micro(Work work, OperatingPoint point, long scratchpad) {
    return new PowerModel(scratchpad, 0).joules(work, 0, point) * 1e6;
  }

  @Test
  void energiesAreThoseOfTheTable() {
    assertEquals(0.3, micro(new Work(MILLION, 0, 0, 0), TABLE, 1024), 1e-9);
    assertEquals(2.0, micro(new Work(0, MILLION, 0, 0), TABLE, 1024), 1e-9);
    assertEquals(10, micro(new Work(0, 0, 8 * MILLION, 0), TABLE, 8 << 10), 1e-9);
    assertEquals(20, micro(new Work(0, 0, 8 * MILLION, 0), TABLE, 32 << 10), 1e-9);
    assertEquals(100, micro(new Work(0, 0, 8 * MILLION, 0), TABLE, 1 << 20), 1e-9);
    assertEquals(1950, micro(new Work(0, 0, 0, 8 * MILLION), TABLE, 1024), 1e-9);
  }

  @Test
  void largerScratchpadsCostMore() {
    Work access = new Work(0, 0, 8, 0);
    double last = 0;
    for (long size = 1 << 10; size <= 16 << 20; size *= 2) {
      double now = micro(access, TABLE, size);
      assertTrue(now > last, "at " + size);
      last = now;
    }
  }

  @Test
  void switchingGrowsWithTheSquareOfTheVoltageAndLeakageInProportion() {
    OperatingPoint half = new OperatingPoint("half", 0.45, 1e9);
    assertEquals(0.3 / 4, micro(new Work(MILLION, 0, 0, 0), half, 1024), 1e-9);
    assertEquals(1950, micro(new Work(0, 0, 0, 8 * MILLION), half, 1024), 1e-9);
    PowerModel leaking = new PowerModel(1024, 0.2);
    assertEquals(0.1, leaking.staticWatts(half), 1e-12);
    assertEquals(0.1e-3, leaking.joules(new Work(0, 0, 0, 0), MILLION, half), 1e-12);
    assertEquals(0.1e-3, leaking.idleJoules(MILLION, half), 1e-12);
  }

  @Test
  void clocksFollowTheVoltage() {
    assertEquals(800e6, TABLE.hertz(), 1);
    assertEquals(1_250_000, TABLE.nanos(MILLION));
    // (0.4^1.3 / 0.7) / (0.6^1.3 / 0.9) = 0.759
    assertEquals(607e6, OperatingPoint.at("nominal", 0.7).hertz(), 1e6);
    assertThrows(IllegalArgumentException.class, () -> OperatingPoint.at("dead", 0.3));
    assertThrows(IllegalStateException.class, () -> OperatingPoints.IDLE.nanos(1));
  }

  @Test
  void preferencesChooseTheirPoint() {
    ArrayTiming array = new ArrayTiming(16, 16, Dataflow.WEIGHT_STATIONARY);
    PowerModel tight = new PowerModel(256 << 10, 0);
    double nominal = tight.peakWatts(array, OperatingPoints.WORKING.get(1));
    OperatingPoints points = new OperatingPoints(array, tight, nominal);
    assertEquals("low", points.choose(ExecutionPreference.LOW_POWER).name());
    assertEquals("boost", points.choose(ExecutionPreference.FAST_SINGLE_ANSWER).name());
    assertEquals("nominal", points.choose(ExecutionPreference.SUSTAINED_SPEED).name());
    assertEquals(
        "low",
        new OperatingPoints(array, tight, 0).choose(ExecutionPreference.SUSTAINED_SPEED).name());
    assertEquals(
        "boost",
        new OperatingPoints(array, tight, 99).choose(ExecutionPreference.SUSTAINED_SPEED).name());
  }

  @Test
  void whereLeakageReignsHasteSavesEnergy() {
    ArrayTiming array = new ArrayTiming(2, 2, Dataflow.WEIGHT_STATIONARY);
    OperatingPoints points = new OperatingPoints(array, new PowerModel(1024, 5), 99);
    assertSame(
        points.choose(ExecutionPreference.FAST_SINGLE_ANSWER),
        points.choose(ExecutionPreference.LOW_POWER));
  }

  @Test
  void nonsenseIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> new PowerModel(0, 0));
    assertThrows(IllegalArgumentException.class, () -> new PowerModel(1, -1));
    assertThrows(IllegalArgumentException.class, () -> new Work(0, 0, -1, 0));
  }
}
