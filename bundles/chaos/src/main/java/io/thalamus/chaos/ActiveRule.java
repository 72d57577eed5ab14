// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** A rule that counts executions. Thread-safe. */
final class ActiveRule {
  private final FaultRule rule;
  private final AtomicLong executions = new AtomicLong();
  private final AtomicBoolean spent = new AtomicBoolean();

  ActiveRule(FaultRule rule) {
    this.rule = rule;
  }

  FaultRule rule() {
    return rule;
  }

  /**
   * Counts one execution.
   *
   * @return its number where it is struck, else 0
   */
  long count() {
    long number = executions.incrementAndGet();
    if (spent.get() || !rule.trigger().strikes(number)) {
      return 0;
    }
    return !rule.trigger().once() || spent.compareAndSet(false, true) ? number : 0;
  }

  SplittableRandom places(long number) {
    SplittableRandom random = rule.trigger().random(number);
    random.nextDouble();
    return random;
  }
}
