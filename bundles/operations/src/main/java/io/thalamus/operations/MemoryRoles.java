// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.List;

/**
 * NNAPI's rules for the roles of a memory, for the runtime and for drivers: AOSP's {@code
 * validateMemoryDesc}. Stateless.
 */
public final class MemoryRoles {
  private MemoryRoles() {}

  /**
   * One use of a memory. Immutable.
   *
   * @param owner the model or compilation that uses it, of which identity counts
   * @param graph the main graph of that
   * @param isInput whether the memory is read, not written
   * @param index of the input or output
   * @param frequency how often it is used so, in (0, 1]
   */
  public record Role(Object owner, Subgraph graph, boolean isInput, int index, float frequency) {
    /** Returns the index of the operand in the graph. */
    public int operandIndex() {
      return operands().get(index);
    }

    private List<Integer> operands() {
      return isInput ? graph.inputIndexes() : graph.outputIndexes();
    }

    /** Returns whether this is a use by the same owner as the same input or output. */
    public boolean isSame(Object otherOwner, boolean otherIsInput, int otherIndex) {
      return owner == otherOwner && isInput == otherIsInput && index == otherIndex;
    }

    /** Returns the role for people, for example {@code input 0 'state'}. */
    public String text() {
      boolean isKnown = index >= 0 && index < operands().size();
      String name = isKnown ? graph.operands().get(operandIndex()).name() : "";
      return (isInput ? "input " : "output ") + index + (name.isEmpty() ? "" : " '" + name + "'");
    }

    private Operand check(List<Role> earlier) throws Conflict {
      if (index < 0 || index >= operands().size()) {
        throw new Conflict("there is no %s: the model has %d".formatted(text(), operands().size()));
      }
      if (!(frequency > 0 && frequency <= 1)) {
        throw new Conflict("the frequency of %s is %s, not in (0, 1]".formatted(text(), frequency));
      }
      if (earlier.stream().anyMatch(role -> role.isSame(owner, isInput, index))) {
        throw new Conflict(text() + " is given twice");
      }
      return graph.operands().get(operandIndex());
    }
  }

  /** Roles that no memory can have together. The message says which, and why. */
  public static final class Conflict extends Exception {
    private static final long serialVersionUID = 1L;

    private Conflict(String message) {
      super(message);
    }
  }

  /**
   * Returns an operand of the type and quantization that all roles have, with the dimensions that
   * the roles and the memory's description give together. Some may remain unknown.
   *
   * @param dimensions of the description itself
   * @throws Conflict if there is no role, or roles are wrong or contradict each other
   */
  public static Operand common(List<Role> roles, Shape dimensions) throws Conflict {
    if (roles.isEmpty()) {
      throw new Conflict("it has no role: say which input or output it is for");
    }
    Role first = roles.getFirst();
    Operand common = first.check(List.of());
    for (int i = 1; i < roles.size(); i++) {
      Role role = roles.get(i);
      Operand operand = role.check(roles.subList(0, i));
      if (!common.type().equals(operand.type())
          || !common.quantization().equals(operand.quantization())) {
        throw new Conflict(
            "%s is %s, but %s is %s"
                .formatted(role.text(), type(operand), first.text(), type(common)));
      }
      common = combined(common, operand.shape(), "the dimensions of " + role.text());
    }
    if (!common.type().isTensor() && dimensions.rank() > 0) {
      throw new Conflict("a scalar has no dimensions, got " + dimensions);
    }
    return combined(common, dimensions, "its own dimensions");
  }

  private static Operand combined(Operand common, Shape shape, String what) throws Conflict {
    return common.with(
        common
            .shape()
            .combine(shape)
            .orElseThrow(
                () ->
                    new Conflict(
                        "%s are %s, which contradicts %s".formatted(what, shape, common.shape()))));
  }

  private static String type(Operand operand) {
    return operand.type().text() + " " + operand.quantization();
  }
}
