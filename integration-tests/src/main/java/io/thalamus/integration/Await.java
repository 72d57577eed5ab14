// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Waits for what happens in other threads. */
final class Await {
  private static final long PATIENCE_SECONDS = 30;
  private static final long PAUSE_MILLIS = 10;

  private Await() {}

  /** Returns as soon as the condition holds; fails where it does not within 30 seconds. */
  static void that(String what, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!condition.call()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within " + PATIENCE_SECONDS + " s: " + what);
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }
}
