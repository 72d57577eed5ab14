// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.PreparedModel;
import io.thalamus.operations.MemoryRoles;
import io.thalamus.runtime.plan.PlanNode;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The roles of a memory as the steps of the plans of a moment have them, for the one device that is
 * involved. Immutable.
 *
 * <p>A value is also an input of each step that reads it after another step has written it. If the
 * interpreter of IF and WHILE uses it, or several devices do, no device's buffer will do.
 */
record Placement(RegisteredDevice device, List<BufferRole> roles) {
  Placement {
    roles = List.copyOf(roles);
  }

  /**
   * Returns the device for a memory with these roles; empty for shared memory.
   *
   * @param hosts the compilations, each once
   * @param plans of them, retained by the caller, in the same order; null for one that is closed
   */
  static Optional<Placement> of(RoleSet roleSet, List<RoleHost> hosts, List<PreparedPlan> plans) {
    Collector collector = new Collector();
    for (MemoryRoles.Role role : roleSet.roles()) {
      PreparedPlan plan = plans.get(hosts.indexOf(role.owner()));
      if (plan != null && !collector.add(role, plan)) {
        return Optional.empty();
      }
    }
    return collector.device == null
        ? Optional.empty()
        : Optional.of(new Placement(collector.device, collector.roles));
  }

  /** Used by one thread. */
  private static final class Collector {
    private final List<BufferRole> roles = new ArrayList<>();
    private RegisteredDevice device;

    /** Adds the uses that a role means in a plan; returns false if no single device will do. */
    boolean add(MemoryRoles.Role role, PreparedPlan plan) {
      int operand = role.operandIndex();
      for (PlanNode node : plan.planned().main().nodes()) {
        if (!(node instanceof ExecutionStep step)) {
          if (node.inputs().contains(operand) || node.outputs().contains(operand)) {
            return false;
          }
          continue;
        }
        for (Direction direction : Direction.values()) {
          List<Integer> side = direction == Direction.INPUT ? step.inputs() : step.outputs();
          for (int i = 0; i < side.size(); i++) {
            if (side.get(i) == operand && !add(step, plan, direction, i, role)) {
              return false;
            }
          }
        }
      }
      return true;
    }

    private boolean add(
        ExecutionStep step,
        PreparedPlan plan,
        Direction direction,
        int index,
        MemoryRoles.Role role) {
      if (device != null && device != step.device()) {
        return false;
      }
      device = step.device();
      Optional<PreparedModel> model = plan.step(step.index()).primary().unwrap();
      model.ifPresent(
          prepared -> roles.add(new BufferRole(prepared, direction, index, role.frequency())));
      return model.isPresent();
    }
  }
}
