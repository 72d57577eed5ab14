// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * What a buffer is for, checked: roles that agree with each other and with the descriptor.
 * Immutable; holds on to the prepared models of its roles.
 *
 * @param operand the type, quantization and dimensions that all roles have in common
 * @param bytes of a value
 * @param roles at least one
 */
record BufferPlan(Operand operand, long bytes, List<BufferRole> roles) {

  /**
   * Checks a descriptor as NNAPI's validateMemoryDesc does.
   *
   * @param graphs the main graph of a prepared model, where the device prepared it
   * @throws DeviceException with INVALID_ARGUMENT for roles that are none or contradict each other,
   *     with GENERAL_FAILURE for values of unknown size and of an extension's type
   */
  static BufferPlan of(
      BufferDesc desc, List<BufferRole> roles, Function<PreparedModel, Optional<Subgraph>> graphs)
      throws DeviceException {
    if (roles.isEmpty()) {
      throw invalid("a buffer needs a role");
    }
    Operand common = null;
    Shape shape = desc.shape();
    for (int i = 0; i < roles.size(); i++) {
      BufferRole role = roles.get(i);
      Operand operand = operand(role, graphs);
      checkNew(role, roles.subList(0, i));
      if (common == null) {
        common = operand;
      }
      if (!common.type().equals(operand.type())
          || !common.quantization().equals(operand.quantization())) {
        throw invalid(
            text(role)
                + " is "
                + type(operand)
                + ", but "
                + text(roles.getFirst())
                + " "
                + type(common));
      }
      Optional<Shape> combined = shape.combine(operand.shape());
      if (combined.isEmpty()) {
        throw invalid(text(role) + " is " + operand.shape() + ", which does not go with " + shape);
      }
      shape = combined.get();
    }
    if (!common.type().isTensor() && shape.rank() > 0) {
      throw invalid(text(roles.get(0)) + " is a scalar, but the buffer is to have " + shape);
    }
    if (common.type() instanceof ExtensionOperandType type) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "buffers do not hold values of type " + type.text());
    }
    if (!common.with(shape).isSizeKnown()) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE,
          "the size of a buffer of shape " + shape + " is not known: give its dimensions");
    }
    return new BufferPlan(common.with(shape), bytes(common, shape), List.copyOf(roles));
  }

  private static Operand operand(
      BufferRole role, Function<PreparedModel, Optional<Subgraph>> graphs) throws DeviceException {
    Subgraph graph =
        graphs
            .apply(role.model())
            .orElseThrow(() -> invalid("a role names a model that this device did not prepare"));
    boolean isInput = role.direction() == BufferRole.Direction.INPUT;
    int count = isInput ? graph.inputIndexes().size() : graph.outputIndexes().size();
    if (role.index() < 0 || role.index() >= count) {
      throw invalid("a role names " + text(role) + " of " + count);
    }
    if (!(role.frequency() > 0 && role.frequency() <= 1)) {
      throw invalid(
          text(role) + " has a frequency of " + role.frequency() + ": it must be in (0, 1]");
    }
    return isInput ? graph.input(role.index()) : graph.output(role.index());
  }

  private static void checkNew(BufferRole role, List<BufferRole> earlier) throws DeviceException {
    for (BufferRole other : earlier) {
      if (isSame(other, role.model(), role.direction(), role.index())) {
        throw invalid(text(role) + " of a model is given twice");
      }
    }
  }

  private static boolean isSame(
      BufferRole role, PreparedModel model, BufferRole.Direction direction, int index) {
    return role.model() == model && role.direction() == direction && role.index() == index;
  }

  private static long bytes(Operand operand, Shape shape) throws DeviceException {
    try {
      return Frame.size(operand, shape);
    } catch (ArithmeticException e) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
          "a buffer of shape " + shape + " is larger than can be counted",
          e);
    }
  }

  /** Whether the buffer was declared for this use. */
  boolean has(PreparedModel model, BufferRole.Direction direction, int index) {
    for (int i = 0; i < roles.size(); i++) {
      if (isSame(roles.get(i), model, direction, index)) {
        return true;
      }
    }
    return false;
  }

  private static String text(BufferRole role) {
    return (role.direction() == BufferRole.Direction.INPUT ? "input " : "output ") + role.index();
  }

  private static String type(Operand operand) {
    return operand.type().text() + " " + operand.quantization();
  }

  private static DeviceException invalid(String message) {
    return new DeviceException(ErrorStatus.INVALID_ARGUMENT, message);
  }
}
