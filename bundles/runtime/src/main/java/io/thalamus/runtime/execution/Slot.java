// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.Request;
import io.thalamus.memory.BulkCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.MemoryBinding;
import io.thalamus.runtime.domain.RoleHost;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Optional;

/** One input or output of an execution, and its place. Used as its {@link Arguments} are. */
final class Slot {
  private final Direction direction;
  private final int index;
  private final Operand operand;

  /** Null until the caller has set it. */
  Argument argument;

  /** The dimensions of the model and the caller together; still open ones are 0. */
  Shape shape;

  /** The offset of its room among the copies. */
  long offset;

  /** Where it stands off the heap, while it is given its place; -1 where it does not. */
  long address;

  /** One behind its last byte there. */
  long end;

  /** Null where it is not used in place. */
  CallerPool pool;

  /** Null where it is no memory made for it. */
  MemoryBinding binding;

  Slot(Direction direction, int index, Operand operand) {
    this.direction = direction;
    this.index = index;
    this.operand = operand;
  }

  boolean isInput() {
    return direction == Direction.INPUT;
  }

  /** Returns its name for people. */
  @Override
  public String toString() {
    String name = operand.name().isEmpty() ? "" : " '" + operand.name() + "'";
    return (isInput() ? "input " : "output ") + index + name;
  }

  /** Returns why the execution cannot run; the message begins with its name. */
  NeuralNetworksException refused(String why) {
    return NeuralNetworksException.badData(this + why);
  }

  /** Returns the operand with the dimensions that are known by now. */
  Operand operand() {
    return operand.shape() == shape ? operand : operand.with(shape);
  }

  /** Returns the bytes that it needs in a pool. An ignored output is computed all the same. */
  long room() {
    return argument.length() > 0 || isInput()
        ? argument.length()
        : operand().isSizeKnown() ? operand().byteSize() : 0;
  }

  /** Compares what the caller gave with what the model wants. */
  void check(RoleHost host) throws NeuralNetworksException {
    if (argument == null) {
      throw refused(" is not set");
    }
    if (argument instanceof Argument.Device made) {
      if (!made.memory().hasRole(host, direction, index)) {
        throw refused(
            " stands in memory '%s', which was not made for it: name the role when it is made"
                .formatted(made.memory().name()));
      }
      shape = made.shape();
      return;
    }
    combine(argument.shape());
    if (argument.length() > 0) {
      checkMemory();
      checkLength(argument.length());
    }
  }

  /** Checks the contents of a memory made for an input, which are known once it is claimed. */
  void checkContents() throws NeuralNetworksException {
    combine(binding.shape());
    checkLength(binding.length());
  }

  private void combine(Shape given) throws NeuralNetworksException {
    Shape model = operand.shape();
    if (given.rank() == 0) {
      shape = model;
      return;
    }
    Optional<Shape> combined = operand.type().isTensor() ? model.combine(given) : Optional.empty();
    shape = combined.orElseThrow(() -> refused(" is " + model + ", got the shape " + given));
  }

  private void checkMemory() throws NeuralNetworksException {
    if (argument instanceof Argument.Shared shared
        && (shared.offset() < 0
            || shared.length() < 0
            || shared.offset() > shared.memory().size() - shared.length())) {
      throw refused(
          " at offset %d with %d bytes is not inside its memory of %d bytes"
              .formatted(shared.offset(), shared.length(), shared.memory().size()));
    }
    boolean isReadOnly =
        switch (argument) {
          case Argument.Plain plain -> plain.segment().isReadOnly();
          case Argument.Shared shared -> shared.memory().isReadOnly();
          case Argument.Device _ -> false;
        };
    if (isReadOnly && !isInput()) {
      throw refused(" stands in read-only memory");
    }
  }

  private void checkLength(long length) throws NeuralNetworksException {
    Operand actual = operand();
    if (!actual.isSizeKnown()) {
      if (isInput()) {
        throw refused(" has open dimensions (" + shape + "): give its shape with its value");
      }
      return;
    }
    long wanted;
    try {
      wanted = actual.byteSize();
    } catch (ArithmeticException e) {
      throw refused(" would be larger than any memory: " + shape);
    }
    if (wanted != length) {
      String dimensions = actual.type().isTensor() ? shape + " " : "";
      throw refused(
          String.format(
              Locale.ROOT,
              " wants %,d bytes (%s%s), got %,d",
              wanted,
              dimensions,
              actual.type().text(),
              length));
    }
  }

  /** Returns whether a device can use the caller's segment where it is. */
  boolean suits(MemorySegment segment) {
    return segment.byteSize() > 0
        && Request.Pointer.suits(segment, operand.type())
        && !segment.isMapped()
        && Request.Pointer.isInReach(segment);
  }

  /** Copies bytes from or to the caller's memory, which may be closed or of another thread. */
  void copy(MemorySegment from, long fromOffset, MemorySegment to, long toOffset, long bytes)
      throws NeuralNetworksException {
    try {
      BulkCopy.copy(from, fromOffset, to, toOffset, bytes);
    } catch (WrongThreadException e) {
      throw refused(" stands in memory of another thread: use a shared arena");
    } catch (IllegalStateException e) {
      throw refused(" stands in memory that is closed");
    }
  }
}
