// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.model.Shape;

/** The place of a memory's contents: the host, a device, both or none. Immutable. */
sealed interface Residence {
  /** The residence of a memory that was never written, or of which a write has begun or failed. */
  Residence NOWHERE = new Nowhere();

  /** There are no contents. */
  record Nowhere() implements Residence {}

  /**
   * There are no contents, since their only copy was on a device that does not give it out.
   *
   * @param reason for people
   */
  record Lost(String reason) implements Residence {}

  /** There are contents. */
  sealed interface Held extends Residence {
    /** Returns the dimensions of the contents. */
    Shape shape();

    /** Returns whether all that writes the contents has succeeded. */
    boolean isComplete();
  }

  /** The contents are in shared memory. */
  record Host(Shape shape, boolean isComplete) implements Held {}

  /** The contents are in the buffer. */
  record Device(Shape shape, boolean isComplete) implements Held {}

  /** The contents are in shared memory and in the buffer. */
  record Both(Shape shape, boolean isComplete) implements Held {}

  /** Returns whether shared memory has the contents. */
  default boolean isOnHost() {
    return this instanceof Host || this instanceof Both;
  }

  /** Returns whether the buffer has the contents. */
  default boolean isOnDevice() {
    return this instanceof Device || this instanceof Both;
  }

  /** Returns whether there are contents that can be read. */
  default boolean isComplete() {
    return this instanceof Held held && held.isComplete();
  }

  /** Returns the residence once shared memory has nothing. */
  default Residence withoutHost() {
    return switch (this) {
      case Both both -> new Device(both.shape(), both.isComplete());
      case Host _ -> NOWHERE;
      case Device _, Nowhere _, Lost _ -> this;
    };
  }

  /** Returns the residence once the buffer has nothing. */
  default Residence withoutDevice() {
    return switch (this) {
      case Both both -> new Host(both.shape(), both.isComplete());
      case Device _ -> NOWHERE;
      case Host _, Nowhere _, Lost _ -> this;
    };
  }

  /** Returns the residence of contents of these dimensions once all has been written. */
  default Residence completed(Shape shape) {
    return switch (this) {
      case Host _ -> new Host(shape, true);
      case Device _ -> new Device(shape, true);
      case Both _ -> new Both(shape, true);
      case Nowhere _, Lost _ -> this;
    };
  }
}
