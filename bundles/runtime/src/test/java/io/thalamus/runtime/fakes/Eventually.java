// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Waits for what happens in other threads. */
public final class Eventually {
  private static final long PATIENCE_SECONDS = 60;

  private Eventually() {}

  /** Returns once the condition holds; fails where it never does. */
  public static void that(String what, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!condition.call()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("it never happened: " + what);
      }
      Thread.sleep(1);
    }
  }
}
