// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import io.thalamus.api.Compilation;
import io.thalamus.api.Plan;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * A count of the executions of compilations, which tells the cold ones: while a plan is new, the
 * JVM compiles the kernels that it uses, and some devices begin with slower ones. An execution
 * counts as cold until so much time was spent in those before, or so many were made. Thread-safe.
 */
public final class Warmth {
  /** The time in executions after which they count as warm. */
  public static final long NANOS = 2_000_000_000;

  /** The number of executions after which they count as warm. */
  public static final int EXECUTIONS = 5_000;

  private final Map<Compilation, Past> pasts = new WeakHashMap<>();

  /** The executions by one plan. A device that comes, goes or is updated changes the plan. */
  private record Past(Plan plan, long nanos, int executions) {
    boolean isWarm() {
      return Warmth.isWarm(nanos, executions);
    }
  }

  /** Returns whether an execution is warm after others. */
  public static boolean isWarm(long nanos, int executions) {
    return nanos >= NANOS || executions >= EXECUTIONS;
  }

  /**
   * Adds executions of a compilation.
   *
   * @param nanos how long each took, in their order
   * @return how many of them were cold
   */
  public synchronized int add(Compilation compilation, long[] nanos) {
    Plan plan = compilation.plan();
    Past past = pasts.get(compilation);
    if (past == null || past.plan() != plan) {
      past = new Past(plan, 0, 0);
    }
    int cold = 0;
    for (long one : nanos) {
      cold += past.isWarm() ? 0 : 1;
      past = new Past(plan, past.nanos() + one, past.executions() + 1);
    }
    pasts.put(compilation, past);
    return cold;
  }
}
