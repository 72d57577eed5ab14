// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.NoValue;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.Optional;

/**
 * A signature that is equal for operations that take the same time on one device: type, the types
 * and dimensions of all operands, which of them are constants, and the values of small ones, since
 * strides and padding are among them. Stateless.
 */
public final class OperationSignature {
  private static final int SMALL = 16;

  private OperationSignature() {}

  /**
   * The signature of an operation: its name and a digest of the rest.
   *
   * @return empty for control flow, and where dimensions are open: such times say nothing
   */
  public static Optional<String> of(Model model, Subgraph graph, Operation operation) {
    if (ControlFlow.isControlFlow(operation.type())) {
      return Optional.empty();
    }
    Digest digest = new Digest();
    digest.add(model.relaxComputationFloat32toFloat16() ? "relaxed" : "exact");
    for (int index : operation.inputs()) {
      if (!digest.add(graph.operands().get(index))) {
        return Optional.empty();
      }
    }
    digest.add("->");
    for (int index : operation.outputs()) {
      if (!digest.add(graph.operands().get(index))) {
        return Optional.empty();
      }
    }
    return Optional.of(operation.type().text() + ":" + digest);
  }

  /**
   * The signature of all operations of a model without subgraphs, in their order; empty where one
   * of them has none.
   */
  public static Optional<String> of(Model model) {
    Digest all = new Digest();
    for (Operation operation : model.main().operations()) {
      Optional<String> one = of(model, model.main(), operation);
      if (one.isEmpty()) {
        return one;
      }
      all.add(one.get());
      all.add(" ");
    }
    return Optional.of(all.toString());
  }

  /**
   * FNV-1a of 64 bits over whole numbers instead of bytes: nobody gains by a collision, it needs no
   * provider to be loaded, and a new process computes it before anything of it is compiled.
   */
  private static final class Digest {
    private static final long OFFSET = 0xcbf29ce484222325L;
    private static final long PRIME = 0x100000001b3L;
    private static final long NO_VALUE = -1;
    private static final long CONSTANT = -2;

    private long hash = OFFSET;

    void add(long number) {
      hash = (hash ^ number) * PRIME;
    }

    void add(String text) {
      add(text.hashCode());
    }

    /** Returns whether the size of the operand is known. */
    boolean add(Operand operand) {
      add(operand.type().text());
      if (operand.lifetime() instanceof NoValue) {
        add(NO_VALUE);
        return true;
      }
      int rank = operand.type().isTensor() ? operand.shape().rank() : 0;
      add(rank);
      for (int axis = 0; axis < rank; axis++) {
        add(operand.shape().dimension(axis));
      }
      if (operand.lifetime() instanceof Constant constant) {
        add(CONSTANT);
        MemorySegment bytes = constant.bytes();
        for (long at = 0; bytes.byteSize() <= SMALL && at < bytes.byteSize(); at++) {
          add(bytes.get(ValueLayout.JAVA_BYTE, at));
        }
      }
      return operand.isSizeKnown();
    }

    @Override
    public String toString() {
      return HexFormat.of().toHexDigits(hash);
    }
  }
}
