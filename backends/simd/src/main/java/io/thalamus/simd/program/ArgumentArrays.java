// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.driver.BufferMemory;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.simd.kernel.Lanes;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * Arrays of single tensors as kernels read and write them, with {@link Lanes#LEAD} elements before
 * and {@link Lanes#SLACK} behind. The device's buffers are such arrays, so that no argument in a
 * buffer is copied. Stateless.
 */
public final class ArgumentArrays {
  private static final int LONGEST = Integer.MAX_VALUE - 64;

  private ArgumentArrays() {}

  /** Returns the length of the array for a tensor of so many elements. */
  static int length(int elements) {
    return Lanes.LEAD + elements + Lanes.SLACK;
  }

  /** Allocates a buffer for values of a type; those that do not stand in frames are anywhere. */
  public static BufferMemory allocate(Operand operand, long bytes) throws DeviceException {
    Optional<ElementKind> found = ElementKind.find(operand.type());
    if (found.isEmpty()) {
      return BufferMemory.ofHost(bytes);
    }
    ElementKind kind = found.get();
    if (bytes / kind.size() > LONGEST - Lanes.LEAD - Lanes.SLACK) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
          "a buffer of %d bytes is longer than an array of this JVM can be".formatted(bytes));
    }
    BufferMemory.checkRoom(bytes);
    try {
      Object array = kind.newArray(length(Math.toIntExact(bytes / kind.size())));
      return new HeapMemory(kind.memory(array).asSlice((long) Lanes.LEAD * kind.size(), bytes));
    } catch (OutOfMemoryError e) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
          "there is no room now for a buffer of %d bytes".formatted(bytes),
          e);
    }
  }

  /** Nothing is given back: the last reader lets go of the array. */
  private record HeapMemory(MemorySegment bytes) implements BufferMemory {
    @Override
    public void close() {}
  }

  /** Returns the array of a buffer that holds a tensor; null if the bytes are elsewhere. */
  static Object of(MemorySegment argument, Tensor tensor) {
    Object array = argument.heapBase().orElse(null);
    ElementKind kind = tensor.kind();
    boolean holds =
        kind.length(array) >= length(tensor.size())
            && argument.address() == (long) Lanes.LEAD * kind.size()
            && argument.byteSize() >= (long) tensor.size() * kind.size();
    return holds ? array : null;
  }
}
