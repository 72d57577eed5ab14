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
import io.thalamus.operations.MemoryRoles;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The size and the uses of a buffer: roles that agree with each other and with the descriptor.
 * Immutable; holds on to the prepared models of its roles.
 *
 * @param operand the type, quantization and dimensions that all roles have in common; a buffer with
 *     unknown ones takes the dimensions of each value that is written to it
 * @param bytes of a value; {@link #OPEN} if dimensions are unknown
 * @param roles at least one
 */
record BufferPlan(Operand operand, long bytes, List<MemoryRoles.Role> roles) {
  /** The size of a buffer whose values have several sizes. */
  static final long OPEN = -1;

  /**
   * Checks a descriptor by the rules of {@link MemoryRoles}.
   *
   * @param graphs the main graph of a prepared model, if the device prepared it
   * @throws DeviceException with INVALID_ARGUMENT for roles that are none or contradict each other,
   *     with GENERAL_FAILURE for values of an extension's type
   */
  static BufferPlan of(
      BufferDesc desc, List<BufferRole> roles, Function<PreparedModel, Optional<Subgraph>> graphs)
      throws DeviceException {
    List<MemoryRoles.Role> checked = new ArrayList<>(roles.size());
    for (BufferRole role : roles) {
      Subgraph graph =
          graphs
              .apply(role.model())
              .orElseThrow(
                  () ->
                      DeviceException.invalid(
                          "a role names a model that this device did not prepare"));
      checked.add(
          new MemoryRoles.Role(
              role.model(), graph, isInput(role.direction()), role.index(), role.frequency()));
    }
    Operand common;
    try {
      common = MemoryRoles.common(checked, desc.shape());
    } catch (MemoryRoles.Conflict e) {
      throw DeviceException.invalid("no buffer: " + e.getMessage());
    }
    if (common.type() instanceof ExtensionOperandType type) {
      throw DeviceException.failure("buffers do not hold values of type " + type.text());
    }
    long bytes = common.isSizeKnown() ? bytes(common, common.shape()) : OPEN;
    return new BufferPlan(common, bytes, List.copyOf(checked));
  }

  private static boolean isInput(BufferRole.Direction direction) {
    return direction == BufferRole.Direction.INPUT;
  }

  /** Returns true if the dimensions follow from each value that is written. */
  boolean isOpen() {
    return bytes == OPEN;
  }

  /**
   * Returns the size of a value of these dimensions.
   *
   * @throws DeviceException with RESOURCE_EXHAUSTED_PERSISTENT if it cannot be counted
   */
  static long bytes(Operand operand, Shape shape) throws DeviceException {
    try {
      return Frame.size(operand, shape);
    } catch (ArithmeticException e) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
          "a buffer of shape " + shape + " is larger than can be counted",
          e);
    }
  }

  /** Returns whether the buffer was declared for this use. */
  boolean has(PreparedModel model, BufferRole.Direction direction, int index) {
    for (int i = 0; i < roles.size(); i++) {
      if (roles.get(i).isSame(model, isInput(direction), index)) {
        return true;
      }
    }
    return false;
  }
}
