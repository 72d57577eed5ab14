// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import java.util.Optional;

/**
 * What says that constants of two models are the same bytes: they stand at one place of one owner,
 * who never changes them. Immutable.
 *
 * @param owner an array, or memory; each equals itself alone
 */
record Identity(Object owner, long offset, long length) {
  /** Returns that of a constant; empty if others may write to its memory. */
  static Optional<Identity> of(Constant constant) {
    return switch (constant) {
      case ConstantCopy copy -> Optional.of(new Identity(copy.value(), 0, copy.value().length));
      case ConstantReference reference ->
          isImmutable(reference.pool())
              ? Optional.of(new Identity(reference.pool(), reference.offset(), reference.length()))
              : Optional.empty();
    };
  }

  /** Returns true for memory that nobody can write to; a mapped file changes with the file. */
  static boolean isImmutable(SharedMemory memory) {
    return memory.isReadOnly() && memory.kind() == MemoryKind.ASHMEM;
  }
}
