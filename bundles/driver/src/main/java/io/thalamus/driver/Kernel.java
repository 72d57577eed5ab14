// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * One operation bound to its shapes and parameters. Immutable and thread-safe; running it allocates
 * no native memory, and checks only what the values of its inputs tell.
 */
@FunctionalInterface
public interface Kernel {
  /** Bytes of memory that one run needs besides its arguments. */
  default long scratchSize() {
    return 0;
  }

  /** The same with this many bytes of scratch memory. */
  default Kernel withScratch(long bytes) {
    Kernel kernel = this;
    return new Kernel() {
      @Override
      public long scratchSize() {
        return bytes;
      }

      @Override
      public void run(
          MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
        kernel.run(inputs, outputs, scratch, work);
      }
    };
  }

  /**
   * The shapes of the outputs, where the operation's definition says that only running it
   * determines. The kernel does the work that it takes, keeps what it needs in {@code scratch}, and
   * is run next with room for these shapes.
   *
   * @param inputs as for {@link #run}
   * @param scratch as for {@link #run}, which finds it as it was left here
   * @param work as for {@link #run}
   * @throws KernelException where the values of the inputs are not allowed
   */
  default List<Shape> measure(MemorySegment[] inputs, MemorySegment scratch, WorkMeter work) {
    throw new UnsupportedOperationException("the shapes are known before");
  }

  /**
   * Computes the outputs from the inputs.
   *
   * @param inputs the bytes of each input, empty where it is left out; not to be written
   * @param outputs the bytes of each output, exactly as large as its shape and type say
   * @param scratch {@link #scratchSize()} bytes of any content, aligned to 64
   * @param work to be informed of all work that grows with the sizes of the arguments
   * @throws KernelException where the values of the inputs are not allowed
   */
  void run(MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work);
}
