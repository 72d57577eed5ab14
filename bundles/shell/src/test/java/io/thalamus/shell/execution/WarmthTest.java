// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.api.Compilation;
import io.thalamus.api.Plan;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class WarmthTest {
  private static final long HALF = Warmth.NANOS / 2;

  private final Warmth warmth = new Warmth();
  private Plan plan = new Plan("nnapi", List.of(), List.of());

  private Compilation compilation() {
    return (Compilation)
        Proxy.newProxyInstance(
            WarmthTest.class.getClassLoader(),
            new Class<?>[] {Compilation.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "plan" -> plan;
                  case "hashCode" -> System.identityHashCode(proxy);
                  case "equals" -> proxy == arguments[0];
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }

  @Test
  void executionsAreColdUntilTimeWasSpentOrManyWereMade() {
    Compilation slow = compilation();
    assertEquals(1, warmth.add(slow, new long[] {HALF}));
    assertEquals(1, warmth.add(slow, new long[] {HALF, 1, 1}));
    assertEquals(0, warmth.add(slow, new long[] {1}));
    Compilation fast = compilation();
    long[] many = new long[Warmth.EXECUTIONS + 7];
    Arrays.fill(many, 1);
    assertEquals(Warmth.EXECUTIONS, warmth.add(fast, many));
    assertEquals(0, warmth.add(slow, new long[] {1}));
  }

  /** Equal plans are not enough: an updated device may give one, with other code behind it. */
  @Test
  void anotherPlanIsColdAgain() {
    Compilation compilation = compilation();
    assertEquals(2, warmth.add(compilation, new long[] {HALF, HALF, HALF}));
    plan = new Plan("nnapi", List.of(), List.of());
    assertEquals(2, warmth.add(compilation, new long[] {HALF, HALF, HALF}));
  }
}
