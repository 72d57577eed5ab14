// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * What a memory must hold, and for whom: a description that was found to agree with its
 * compilations. Immutable.
 *
 * @param name for people
 * @param operand what all roles have in common, with the dimensions of all of them
 * @param dimensions what the description itself says of them
 * @param roles what it is used for
 */
record RoleSet(String name, Operand operand, Shape dimensions, List<Role> roles) {
  RoleSet {
    roles = List.copyOf(roles);
  }

  /**
   * One use.
   *
   * @param host whose executions use it
   */
  record Role(RoleHost host, Direction direction, int index, float frequency) {
    /** The operand of the host's main graph. */
    int operandIndex() {
      Subgraph graph = host.model().main();
      return (direction == Direction.INPUT ? graph.inputIndexes() : graph.outputIndexes())
          .get(index);
    }

    String describe() {
      String operand = host.model().main().operands().get(operandIndex()).name();
      return direction.name().toLowerCase(Locale.ROOT)
          + " "
          + index
          + (operand.isEmpty() ? "" : " '" + operand + "'");
    }
  }

  /** What identifies a role: given twice, it is refused. */
  private record Place(RoleHost host, Direction direction, int index) {}

  /** Checks a description against its compilations; NNAPI's rules. */
  static RoleSet of(MemoryDesc desc) throws NeuralNetworksException {
    if (desc.roles().isEmpty()) {
      throw refused(desc, "it has no role: say which input or output it is for");
    }
    List<Role> roles = new ArrayList<>();
    Set<Place> places = new HashSet<>();
    Operand common = null;
    for (MemoryDesc.Role wish : desc.roles()) {
      if (!(wish.compilation() instanceof RoleHost host)) {
        throw refused(desc, "a compilation of it is of another runtime");
      }
      Role role = new Role(host, wish.direction(), wish.index(), wish.frequency());
      Operand operand = operand(desc, role);
      if (!(wish.frequency() > 0 && wish.frequency() <= 1)) {
        throw refused(
            desc,
            "the frequency of %s is %s, not in (0, 1]"
                .formatted(role.describe(), wish.frequency()));
      }
      if (!places.add(new Place(host, wish.direction(), wish.index()))) {
        throw refused(desc, role.describe() + " is given twice");
      }
      common = common == null ? operand : combined(desc, common, operand, role.describe());
      roles.add(role);
    }
    if (!common.type().isTensor() && desc.dimensions().rank() > 0) {
      throw refused(desc, "a scalar has no dimensions, got " + desc.dimensions());
    }
    Shape shape =
        common
            .shape()
            .combine(desc.dimensions())
            .orElseThrow(() -> conflict(desc, desc.dimensions(), "its own dimensions"));
    return new RoleSet(desc.name(), common.with(shape), desc.dimensions(), roles);
  }

  private static Operand operand(MemoryDesc desc, Role role) throws NeuralNetworksException {
    Subgraph graph = role.host().model().main();
    List<Integer> indexes =
        role.direction() == Direction.INPUT ? graph.inputIndexes() : graph.outputIndexes();
    if (role.index() < 0 || role.index() >= indexes.size()) {
      throw refused(
          desc,
          "there is no %s %d: the model has %d"
              .formatted(
                  role.direction().name().toLowerCase(Locale.ROOT), role.index(), indexes.size()));
    }
    return graph.operands().get(indexes.get(role.index()));
  }

  private static Operand combined(MemoryDesc desc, Operand common, Operand operand, String role)
      throws NeuralNetworksException {
    if (!common.type().equals(operand.type())
        || !common.quantization().equals(operand.quantization())) {
      throw refused(
          desc,
          "%s is %s %s, another role %s %s"
              .formatted(
                  role,
                  operand.type().text(),
                  operand.quantization(),
                  common.type().text(),
                  common.quantization()));
    }
    return common.with(
        common
            .shape()
            .combine(operand.shape())
            .orElseThrow(() -> conflict(desc, operand.shape(), role)));
  }

  private static NeuralNetworksException conflict(MemoryDesc desc, Shape shape, String what) {
    return refused(desc, "%s are %s, which does not go with the rest".formatted(what, shape));
  }

  private static NeuralNetworksException refused(MemoryDesc desc, String why) {
    return new NeuralNetworksException(
        ResultCode.BAD_DATA, "no memory '%s': %s".formatted(desc.name(), why));
  }

  /** Whether it was declared for that. */
  boolean hasRole(RoleHost host, Direction direction, int index) {
    for (Role role : roles) {
      if (role.host() == host && role.direction() == direction && role.index() == index) {
        return true;
      }
    }
    return false;
  }

  /** The compilations of the roles, each once. */
  List<RoleHost> hosts() {
    return roles.stream().map(Role::host).distinct().toList();
  }

  /** Whether the contents of another memory can stand here. */
  boolean accepts(RoleSet other, Shape shape) {
    return operand.type().equals(other.operand.type())
        && operand.quantization().equals(other.operand.quantization())
        && operand.shape().combine(shape).isPresent();
  }
}
