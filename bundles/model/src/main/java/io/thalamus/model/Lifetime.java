// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** The lifetime and place of the value of an operand. NNAPI calls it OperandLifeTime. */
public sealed interface Lifetime {
  /** Computed and read within one execution. */
  Lifetime TEMPORARY_VARIABLE = new TemporaryVariable();

  /** Given with each request. */
  Lifetime SUBGRAPH_INPUT = new SubgraphInput();

  /** Returned with each request. */
  Lifetime SUBGRAPH_OUTPUT = new SubgraphOutput();

  /** An optional input that is left out. */
  Lifetime NO_VALUE = new NoValue();

  /** NNAPI's name, for example {@code CONSTANT_COPY}. */
  String text();

  record TemporaryVariable() implements Lifetime {
    @Override
    public String text() {
      return "TEMPORARY_VARIABLE";
    }
  }

  record SubgraphInput() implements Lifetime {
    @Override
    public String text() {
      return "SUBGRAPH_INPUT";
    }
  }

  record SubgraphOutput() implements Lifetime {
    @Override
    public String text() {
      return "SUBGRAPH_OUTPUT";
    }
  }

  record NoValue() implements Lifetime {
    @Override
    public String text() {
      return "NO_VALUE";
    }
  }

  /** The operand is another subgraph of the model, by its index among the referenced ones. */
  record SubgraphReference(int index) implements Lifetime {
    @Override
    public String text() {
      return "SUBGRAPH";
    }
  }

  /** A value that the model itself holds. */
  sealed interface Constant extends Lifetime {
    /** The bytes, little-endian, row-major; read-only. */
    MemorySegment bytes();
  }

  /** A small constant that travels with the model. The array must not be changed afterwards. */
  record ConstantCopy(byte[] value) implements Constant {
    /** Constants up to this size are copied into the model; larger ones stay in a pool. */
    public static final int MAX_SIZE = 128;

    @Override
    public MemorySegment bytes() {
      return MemorySegment.ofArray(value).asReadOnly();
    }

    @Override
    public String text() {
      return "CONSTANT_COPY";
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof ConstantCopy that && java.util.Arrays.equals(that.value, value);
    }

    @Override
    public int hashCode() {
      return java.util.Arrays.hashCode(value);
    }

    @Override
    public String toString() {
      return text() + "[" + value.length + " bytes]";
    }
  }

  /**
   * A constant in a pool. The builder of the model owns the pool, which must stay open as long as
   * the model is used.
   */
  record ConstantReference(SharedMemory pool, long offset, long length) implements Constant {
    public ConstantReference {
      Objects.requireNonNull(pool, "pool");
      Objects.checkFromIndexSize(offset, length, pool.size());
    }

    @Override
    public MemorySegment bytes() {
      return pool.segment().asSlice(offset, length).asReadOnly();
    }

    @Override
    public String text() {
      return "CONSTANT_REFERENCE";
    }
  }
}
