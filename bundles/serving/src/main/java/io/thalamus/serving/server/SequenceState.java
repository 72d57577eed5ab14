// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The states of one sequence, twice: an execution reads one half and writes the other, so that one
 * that fails has changed nothing. They begin with the values that the model's file says, else with
 * zeros. Used by one request at a time; its owner closes it.
 */
final class SequenceState implements AutoCloseable {
  private static final long ALIGNMENT = 64;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment[] before;
  private final MemorySegment[] after;

  SequenceState(List<Signature.State> states) {
    before = new MemorySegment[states.size()];
    after = new MemorySegment[states.size()];
    for (int i = 0; i < before.length; i++) {
      MemorySegment first = arena.allocate(states.get(i).byteSize(), ALIGNMENT);
      states.get(i).first().ifPresent(value -> first.copyFrom(value.bytes()));
      before[i] = first;
      after[i] = arena.allocate(states.get(i).byteSize(), ALIGNMENT);
    }
  }

  /** Returns state number {@code index} as an execution reads it. */
  MemorySegment before(int index) {
    return before[index];
  }

  /** Returns where an execution writes state number {@code index}. */
  MemorySegment after(int index) {
    return after[index];
  }

  /** Takes over what was written. */
  void advance() {
    for (int i = 0; i < before.length; i++) {
      MemorySegment written = after[i];
      after[i] = before[i];
      before[i] = written;
    }
  }

  @Override
  public void close() {
    arena.close();
  }
}
