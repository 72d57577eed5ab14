// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The uses of a {@link Memory}. Immutable; NNAPI's memory descriptor. It is checked against its
 * compilations when a memory is made of it.
 *
 * @param name for people: messages and {@code nn:mem} say it
 * @param roles what it is used for, at least one
 * @param dimensions added to those of the operands of the roles; {@link Shape#NONE} for none
 * @param shadowed whether shared memory gets a copy of what each execution writes, so that the
 *     contents outlive a device that crashes
 */
public record MemoryDesc(String name, List<Role> roles, Shape dimensions, boolean shadowed) {
  public MemoryDesc {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(dimensions, "dimensions");
    roles = List.copyOf(roles);
  }

  /** Returns a builder without roles; the name is for people. */
  public static Builder builder(String name) {
    return new Builder(name);
  }

  /** The side of an execution. */
  public enum Direction {
    INPUT,
    OUTPUT
  }

  /**
   * One use.
   *
   * @param compilation whose executions use it
   * @param direction whether they read or write it
   * @param index of the input or output
   * @param frequency how often it is used so, in (0, 1]
   */
  public record Role(Compilation compilation, Direction direction, int index, float frequency) {
    public Role {
      Objects.requireNonNull(compilation, "compilation");
      Objects.requireNonNull(direction, "direction");
    }
  }

  /** Collects the roles. Not thread-safe; can be used for several descriptions. */
  public static final class Builder {
    private final String name;
    private final List<Role> roles = new ArrayList<>();
    private Shape dimensions = Shape.NONE;
    private boolean shadowed;

    private Builder(String name) {
      this.name = Objects.requireNonNull(name, "name");
    }

    /** Adds the use as input {@code index} of every execution. */
    public Builder input(Compilation compilation, int index) {
      return role(compilation, Direction.INPUT, index, 1);
    }

    /** Adds the use as output {@code index} of every execution. */
    public Builder output(Compilation compilation, int index) {
      return role(compilation, Direction.OUTPUT, index, 1);
    }

    /** Adds a use in that share of the executions. */
    public Builder role(Compilation compilation, Direction direction, int index, float frequency) {
      roles.add(new Role(compilation, direction, index, frequency));
      return this;
    }

    /** Sets dimensions that the models leave open. */
    public Builder dimensions(Shape value) {
      dimensions = Objects.requireNonNull(value, "dimensions");
      return this;
    }

    /**
     * Has shared memory get a copy of what each execution writes. A device that crashes then takes
     * no more along than the execution that runs on it. It costs one copy for each execution.
     */
    public Builder shadowed() {
      shadowed = true;
      return this;
    }

    /** Returns the descriptor of what was collected until now. */
    public MemoryDesc build() {
      return new MemoryDesc(name, roles, dimensions, shadowed);
    }
  }
}
