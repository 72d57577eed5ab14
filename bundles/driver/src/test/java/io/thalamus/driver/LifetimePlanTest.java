// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.driver.LifetimePlan.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Values that live at the same time must not share memory. */
class LifetimePlanTest {
  @Test
  void livingValuesDoNotOverlap() {
    long seed = 41;
    System.out.println("lifetimes: seed " + seed);
    Random random = new Random(seed);
    for (int round = 0; round < 2000; round++) {
      int steps = 1 + random.nextInt(20);
      List<Value> values = new ArrayList<>();
      for (int i = random.nextInt(40); i > 0; i--) {
        int first = random.nextInt(steps);
        long size = random.nextInt(10) == 0 ? 0 : random.nextInt(1, 50) * 64L;
        values.add(new Value(size, first, first + random.nextInt(steps - first)));
      }
      LifetimePlan plan = LifetimePlan.of(values);
      check(values, plan);
      long together = 0;
      for (int step = 0; step < steps; step++) {
        long living = 0;
        for (Value value : values) {
          living += value.first() <= step && step <= value.last() ? value.size() : 0;
        }
        together = Math.max(together, living);
      }
      long all = values.stream().mapToLong(Value::size).sum();
      assertTrue(plan.size() >= together && plan.size() <= all, plan.size() + " of " + all);
    }
  }

  private static void check(List<Value> values, LifetimePlan plan) {
    for (int i = 0; i < values.size(); i++) {
      Value a = values.get(i);
      long start = plan.offsets()[i];
      assertTrue(start >= 0 && start + a.size() <= plan.size());
      for (int j = 0; j < i; j++) {
        Value b = values.get(j);
        boolean live = a.first() <= b.last() && b.first() <= a.last();
        boolean overlap =
            start < plan.offsets()[j] + b.size() && plan.offsets()[j] < start + a.size();
        assertTrue(!(live && overlap), () -> a + " and " + b + " share memory");
      }
    }
  }

  @Test
  void memoryOfTheDeadIsUsedAgain() {
    LifetimePlan plan =
        LifetimePlan.of(List.of(new Value(64, 0, 1), new Value(64, 1, 2), new Value(64, 2, 3)));
    assertEquals(128, plan.size());
  }

  @Test
  void nothingNeedsNothing() {
    assertEquals(0, LifetimePlan.of(List.of()).size());
  }
}
