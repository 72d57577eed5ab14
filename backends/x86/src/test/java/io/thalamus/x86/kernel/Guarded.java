// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.SystemCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;

/**
 * Memory between two pages that nobody may touch. Freed by its owner.
 *
 * @param filled what it was filled with
 */
public record Guarded(MemorySegment memory, long mapped, long bytes, MemorySegment filled)
    implements AutoCloseable {
  private static final int PAGE = 4096;

  /** Maps memory of a size that ends at such a page, or begins behind one. */
  @SuppressWarnings("restricted")
  public static Guarded of(long size, boolean isAtEnd) {
    long inner = Math.max(PAGE, (size + PAGE - 1) / PAGE * PAGE);
    long bytes = inner + 2 * PAGE;
    long mapped = SystemCalls.map(bytes);
    assertNotEquals(0, mapped);
    assertTrue(SystemCalls.forbid(mapped, PAGE));
    assertTrue(SystemCalls.forbid(mapped + PAGE + inner, PAGE));
    long at = mapped + PAGE + (isAtEnd ? inner - size : 0);
    return new Guarded(
        MemorySegment.ofAddress(at).reinterpret(size),
        mapped,
        bytes,
        MemorySegment.ofArray(new byte[Math.toIntExact(size)]));
  }

  /** Calls a function with addresses instead of offsets, one for each of its arguments. */
  public static void call(
      ExecutableMemory code, Function function, List<Guarded> arguments, long blocks) {
    long[] addresses = arguments.stream().mapToLong(one -> one.memory().address()).toArray();
    SystemCalls.call(
        code.at(function.entry()),
        0,
        0,
        addresses[0],
        addresses[1],
        addresses[2],
        blocks,
        addresses[3],
        addresses[4]);
  }

  void fill(Random random, float scale) {
    for (long i = 0; i < memory.byteSize() / Float.BYTES; i++) {
      float value = (random.nextFloat() * 2 - 1) * scale;
      memory.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, value);
    }
    filled.copyFrom(memory);
  }

  /** Returns the float that it was filled with. */
  double was(long bytesFromBegin) {
    return filled.get(ValueLayout.JAVA_FLOAT_UNALIGNED, bytesFromBegin);
  }

  double get(long bytesFromBegin) {
    return memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, bytesFromBegin);
  }

  @Override
  public void close() {
    SystemCalls.unmap(mapped, bytes);
  }
}
