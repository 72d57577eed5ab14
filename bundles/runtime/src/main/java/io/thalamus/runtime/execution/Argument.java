// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBinding;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** One input or output as the caller gave it. Immutable. */
sealed interface Argument {
  /** Returns the bytes; 0 if the caller leaves it out. */
  long length();

  /** Returns the dimensions that the caller named, or none. */
  Shape shape();

  /** In plain memory, to be used in place or copied. */
  record Plain(MemorySegment segment, Shape shape) implements Argument {
    public Plain {
      Objects.requireNonNull(segment, "segment");
      Objects.requireNonNull(shape, "shape");
    }

    @Override
    public long length() {
      return segment.byteSize();
    }
  }

  /** In shared memory, to be lent. */
  record Shared(SharedMemory memory, long offset, long length, Shape shape) implements Argument {
    public Shared {
      Objects.requireNonNull(memory, "memory");
      Objects.requireNonNull(shape, "shape");
    }
  }

  /** In a memory made for it. */
  record Device(DomainMemory memory) implements Argument {
    /** The contents are known only when the execution begins. */
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
