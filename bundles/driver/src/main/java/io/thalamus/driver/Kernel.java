// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.lang.foreign.MemorySegment;

/**
 * One operation bound to its shapes and parameters. Immutable and thread-safe; running it allocates
 * nothing and checks nothing.
 */
@FunctionalInterface
public interface Kernel {
  /** Bytes of memory that one run needs besides its arguments. */
  default long scratchSize() {
    return 0;
  }

  /**
   * Computes the outputs from the inputs.
   *
   * @param inputs the bytes of each input, empty where it is left out; not to be written
   * @param outputs the bytes of each output, exactly as large as its shape and type say
   * @param scratch {@link #scratchSize()} bytes of any content, aligned to 64
   */
  void run(MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch);
}
