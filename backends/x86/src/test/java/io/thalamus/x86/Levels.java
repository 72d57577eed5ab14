// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.Machine;

/** Devices held to some instructions; tests of those that this machine lacks are skipped. */
public final class Levels {
  private Levels() {}

  static X86Device device(Level level) {
    assume(level);
    return new X86Device("1.0.0", Machine.of(level), 0, new NoCacheEngine(), BurstSource.NONE);
  }

  /** Skips a test where this machine lacks such instructions. */
  public static void assume(Level level) {
    Machine machine = Machine.probe();
    assumeTrue(machine.best().isPresent(), machine::reason);
    assumeTrue(machine.levels().contains(level), () -> "this machine does not have " + level);
  }
}
