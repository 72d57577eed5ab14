// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.MemoryDescription;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** A memory of an application, with the claims of executions and copies on it. */
public final class DomainMemory implements Memory {
  private final long number;
  private final Layout layout;
  private final Contents contents;
  private final Claims claims = new Claims();
  private final Consumer<DomainMemory> onClose;
  private final ReferenceCount uses;

  /**
   * A memory with room.
   *
   * @param number the place in the order in which several are claimed
   */
  DomainMemory(long number, Layout layout, Contents contents, Consumer<DomainMemory> onClose) {
    this.number = number;
    this.layout = layout;
    this.contents = contents;
    this.onClose = onClose;
    this.uses = new ReferenceCount(contents::free);
  }

  long number() {
    return number;
  }

  Contents contents() {
    return contents;
  }

  @Override
  public String name() {
    return layout.name();
  }

  /** Whether it was made for that. */
  public boolean hasRole(RoleHost host, Direction direction, int index) {
    return layout.hasRole(host, direction, index);
  }

  /** What the roles have in common, with dimensions as far as all of them are known. */
  public Operand operand() {
    return layout.operand();
  }

  /**
   * Begins a use.
   *
   * @param mayWait asked now and then while it must wait for other uses
   * @return whether it has begun
   * @throws NeuralNetworksException with BAD_DATA where it is closed
   */
  boolean claim(boolean isWriting, BooleanSupplier mayWait) throws NeuralNetworksException {
    if (!uses.retain()) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, "memory '%s' is closed".formatted(name()));
    }
    if (claims.begin(isWriting, mayWait)) {
      return true;
    }
    uses.release();
    return false;
  }

  /** Ends a use. */
  void unclaim(boolean isWriting) {
    claims.end(isWriting);
    uses.release();
  }

  @Override
  public void copyFrom(MemorySegment source, Shape shape) throws NeuralNetworksException {
    claim(true, () -> true);
    try {
      contents.write(source, shape);
    } finally {
      unclaim(true);
    }
  }

  @Override
  public void copyTo(MemorySegment destination) throws NeuralNetworksException {
    claim(false, () -> true);
    try {
      contents.read(destination);
    } finally {
      unclaim(false);
    }
  }

  @Override
  public void copyFrom(Memory source) throws NeuralNetworksException {
    if (source == this) {
      return;
    }
    if (!(source instanceof DomainMemory other)) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, "memory '%s' is of another runtime".formatted(source.name()));
    }
    boolean isFirst = number < other.number;
    // In the order of their numbers, as executions claim them: nobody waits in a circle.
    (isFirst ? this : other).claim(isFirst, () -> true);
    try {
      (isFirst ? other : this).claim(!isFirst, () -> true);
      try {
        copyContents(other);
      } finally {
        (isFirst ? other : this).unclaim(!isFirst);
      }
    } finally {
      (isFirst ? this : other).unclaim(isFirst);
    }
  }

  private void copyContents(DomainMemory source) throws NeuralNetworksException {
    boolean isDone = false;
    try {
      Shape shape = source.contents.offer();
      if (!layout.accepts(source.layout, shape)) {
        throw new NeuralNetworksException(
            ResultCode.BAD_DATA,
            "memory '%s' (%s %s) does not fit into memory '%s' (%s %s)"
                .formatted(
                    source.name(),
                    source.operand().type().text(),
                    shape,
                    name(),
                    operand().type().text(),
                    operand().shape()));
      }
      contents.write(source.contents.shared().segment(), shape);
      isDone = true;
    } finally {
      if (!isDone) {
        contents.fail();
      }
    }
  }

  @Override
  public MemoryDescription describe() {
    return contents.describe();
  }

  @Override
  public void close() {
    if (uses.close()) {
      onClose.accept(this);
    }
  }
}
