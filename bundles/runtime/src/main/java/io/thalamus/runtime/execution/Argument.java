// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBinding;
import java.lang.foreign.MemorySegment;

/** What a caller gave for one input or output. Immutable. */
sealed interface Argument {
  /** In bytes; 0 where the caller leaves it out. */
  long length();

  /** The dimensions that the caller named, or none. */
  Shape shape();

  /** In plain memory, to be copied. */
  record Plain(MemorySegment segment, Shape shape) implements Argument {
    @Override
    public long length() {
      return segment.byteSize();
    }
  }

  /** In shared memory, to be lent. */
  record Shared(SharedMemory memory, long offset, long length, Shape shape) implements Argument {}

  /** In a memory made for it. */
  record Made(DomainMemory memory) implements Argument {
    /** What it holds is known only when the execution begins. */
    @Override
    public long length() {
      return MemoryBinding.OPEN;
    }

    @Override
    public Shape shape() {
      return memory.operand().shape();
    }
  }
}
