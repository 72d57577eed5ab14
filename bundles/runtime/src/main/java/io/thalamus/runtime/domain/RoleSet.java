// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.operations.MemoryRoles;
import java.util.ArrayList;
import java.util.List;

/**
 * The roles of a memory, and the type of its contents: a descriptor that was found to agree with
 * its compilations. Immutable.
 *
 * @param name for people
 * @param operand the type and quantization that all roles have, with the dimensions of all of them
 * @param dimensions of the descriptor itself
 * @param roles whose owners are {@link RoleHost}s
 * @param shadowed whether shared memory gets a copy of what each execution writes
 */
record RoleSet(
    String name,
    Operand operand,
    Shape dimensions,
    List<MemoryRoles.Role> roles,
    boolean shadowed) {
  RoleSet {
    roles = List.copyOf(roles);
  }

  /**
   * Checks a descriptor against its compilations, by the rules of {@link MemoryRoles}.
   *
   * @throws NeuralNetworksException with BAD_DATA if it breaks one
   */
  static RoleSet of(MemoryDesc desc) throws NeuralNetworksException {
    List<MemoryRoles.Role> roles = new ArrayList<>();
    for (MemoryDesc.Role wish : desc.roles()) {
      if (!(wish.compilation() instanceof RoleHost host)) {
        throw refused(desc, "a compilation of it is of another runtime");
      }
      roles.add(
          new MemoryRoles.Role(
              host,
              host.model().main(),
              wish.direction() == Direction.INPUT,
              wish.index(),
              wish.frequency()));
    }
    try {
      Operand common = MemoryRoles.common(roles, desc.dimensions());
      return new RoleSet(desc.name(), common, desc.dimensions(), roles, desc.shadowed());
    } catch (MemoryRoles.Conflict e) {
      throw refused(desc, e.getMessage());
    }
  }

  private static NeuralNetworksException refused(MemoryDesc desc, String why) {
    return NeuralNetworksException.badData("no memory '%s': %s".formatted(desc.name(), why));
  }

  /** Returns whether the memory was declared for this use. */
  boolean hasRole(RoleHost host, Direction direction, int index) {
    for (MemoryRoles.Role role : roles) {
      if (role.isSame(host, direction == Direction.INPUT, index)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the compilations of the roles, each once. */
  List<RoleHost> hosts() {
    return roles.stream().map(role -> (RoleHost) role.owner()).distinct().toList();
  }

  /** Returns whether contents of another memory fit into this one. */
  boolean accepts(RoleSet other, Shape shape) {
    return operand.type().equals(other.operand.type())
        && operand.quantization().equals(other.operand.quantization())
        && operand.shape().combine(shape).isPresent();
  }
}
