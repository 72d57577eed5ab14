// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.SystemCalls;
import io.thalamus.x86.kernel.Emitter;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.PeakProducts;
import java.util.Optional;

/** The products that a thread can make at most, as measured now. Stateless. */
final class Peak {
  private static final int ROUNDS = 16;

  /** Blocks of a round: a few tenths of a millisecond. */
  private static final int BLOCKS = 1 << 16;

  private Peak() {}

  /**
   * Returns the products of a second; 0 where the system refuses memory for code.
   *
   * @param areBytes whether of 8-bit integers, else of floats
   */
  static double measure(Level level, boolean areBytes) {
    Emitter emitter = new Emitter(level);
    Function function = new PeakProducts(areBytes).emit(emitter);
    Optional<ExecutableMemory> code = ExecutableMemory.of(emitter.finish());
    if (code.isEmpty()) {
      return 0;
    }
    long least = Long.MAX_VALUE;
    try (ExecutableMemory memory = code.get()) {
      for (int round = 0; round < ROUNDS; round++) {
        long start = System.nanoTime();
        SystemCalls.call(memory.at(function.entry()), 0, 0, 0, 0, 0, BLOCKS);
        least = Math.min(least, System.nanoTime() - start);
      }
    }
    return 1e9 * BLOCKS * PeakProducts.products(level.length(), areBytes) / least;
  }
}
