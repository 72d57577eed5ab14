// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import java.util.Optional;
import java.util.function.Predicate;

/** The kernels of a device that runs operations one by one. Immutable to the outside. */
public final class KernelTable {
  private final OperationTable<KernelFactory> factories;

  private KernelTable(OperationTable<KernelFactory> factories) {
    this.factories = factories;
  }

  /** An empty table to be filled. */
  public static Builder builder() {
    return new Builder(OperationTable.builder());
  }

  /** A table that is filled family by family; see {@link OperationTable#of}. */
  public static KernelTable of(Families families) {
    return new KernelTable(
        OperationTable.of((number, table) -> families.add(number, new Builder(table))));
  }

  /** What fills a table; see {@link OperationTable.Families}. */
  @FunctionalInterface
  public interface Families {
    /** Adds a family; returns false if there is none of this number, nor of a larger one. */
    boolean add(int number, Builder table);
  }

  /**
   * The first kernel that takes this operation.
   *
   * @param type the operation's {@code OperationDefinition.kernelType}
   */
  public Optional<KernelFactory> find(OperandType type, OperationView operation) {
    return factories.find(type, operation);
  }

  OperationTable<KernelFactory> factories() {
    return factories;
  }

  /** Fills a table. Not thread-safe. */
  public static final class Builder {
    private final OperationTable.Builder<KernelFactory> factories;

    private Builder(OperationTable.Builder<KernelFactory> factories) {
      this.factories = factories;
    }

    /** A kernel for every form of an operation on elements of these types. */
    public Builder add(OperationType operation, KernelFactory factory, OperandType... types) {
      return add(operation, view -> true, factory, types);
    }

    /** A kernel for every form of an operation on floats. */
    public Builder floats(OperationType operation, KernelFactory factory) {
      return add(operation, factory, ElementTypes.floats());
    }

    /** A kernel for every form of an operation on asymmetric 8-bit types. */
    public Builder quantized8(OperationType operation, KernelFactory factory) {
      return add(operation, factory, ElementTypes.quantized8());
    }

    /** A kernel for the forms of an operation that meet a condition. */
    public Builder add(
        OperationType operation,
        Predicate<OperationView> condition,
        KernelFactory factory,
        OperandType... types) {
      factories.add(operation, condition, factory, types);
      return this;
    }

    /**
     * Executes those IF and WHILE whole that meet a condition, and whose graphs hold nothing but
     * operations that the table has kernels for. No kernel does it: the graphs are executed by this
     * library. A runtime interprets what no device takes, so that only the CPU device needs it, for
     * values whose size is not known before they are computed.
     */
    public Builder addControlFlow(Predicate<OperationView> condition) {
      add(OperationCode.IF, condition, Builder::noKernel, OperandCode.TENSOR_BOOL8);
      return add(OperationCode.WHILE, condition, Builder::noKernel, OperandCode.SUBGRAPH);
    }

    private static Kernel noKernel(ResolvedOperation operation) {
      throw new IllegalStateException(operation.view().type().text() + " has no kernel");
    }

    /** The table as filled so far. */
    public KernelTable build() {
      return new KernelTable(factories.build());
    }
  }
}
