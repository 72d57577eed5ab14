// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.code.Machine;
import java.util.Optional;

/** Devices held to a length of vectors; tests of longer ones than this machine has are skipped. */
public final class Lengths {
  private Lengths() {}

  static X86Device device(Length length) {
    assume(length);
    return new X86Device(
        "1.0.0", new Machine(Optional.of(length), ""), 0, new NoCacheEngine(), BurstSource.NONE);
  }

  /** Skips a test where this machine lacks such vectors. */
  public static void assume(Length length) {
    Machine machine = Machine.probe();
    assumeTrue(machine.longest().isPresent(), machine::reason);
    assumeTrue(machine.longest().get().compareTo(length) >= 0, "no vectors " + length + " here");
  }
}
