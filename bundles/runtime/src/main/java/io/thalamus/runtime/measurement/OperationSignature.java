// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.NoValue;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import java.util.HexFormat;
import java.util.Optional;

/**
 * A signature that is equal for operations that take the same time on one device: type, the types
 * and dimensions of all operands, which of them are constants, and the values of small ones, since
 * strides and padding are among them. Stateless.
 */
public final class OperationSignature {
  private static final int SMALL = 16;
  private static final long FNV_OFFSET = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

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
    StringBuilder text = new StringBuilder();
    text.append(model.relaxComputationFloat32toFloat16() ? "relaxed" : "exact");
    for (int index : operation.inputs()) {
      if (!append(text, graph.operands().get(index))) {
        return Optional.empty();
      }
    }
    text.append("->");
    for (int index : operation.outputs()) {
      if (!append(text, graph.operands().get(index))) {
        return Optional.empty();
      }
    }
    return Optional.of(operation.type().text() + ":" + digest(text.toString()));
  }

  /**
   * The signature of all operations of a model without subgraphs, in their order; empty where one
   * of them has none.
   */
  public static Optional<String> of(Model model) {
    StringBuilder all = new StringBuilder();
    for (Operation operation : model.main().operations()) {
      Optional<String> one = of(model, model.main(), operation);
      if (one.isEmpty()) {
        return one;
      }
      all.append(one.get()).append(' ');
    }
    return Optional.of(digest(all.toString()));
  }

  private static boolean append(StringBuilder text, Operand operand) {
    text.append(' ').append(operand.type().text());
    if (operand.lifetime() instanceof NoValue) {
      text.append("-");
      return true;
    }
    if (operand.type().isTensor()) {
      text.append(operand.shape());
    }
    if (operand.lifetime() instanceof Constant constant) {
      text.append('=');
      if (constant.bytes().byteSize() <= SMALL) {
        for (long at = 0; at < constant.bytes().byteSize(); at++) {
          text.append(constant.bytes().get(java.lang.foreign.ValueLayout.JAVA_BYTE, at));
          text.append(',');
        }
      }
    }
    return operand.isSizeKnown();
  }

  /** FNV-1a of 64 bits: nobody gains by a collision, and it needs no provider to be loaded. */
  private static String digest(String text) {
    long hash = FNV_OFFSET;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * FNV_PRIME;
    }
    return HexFormat.of().toHexDigits(hash);
  }
}
