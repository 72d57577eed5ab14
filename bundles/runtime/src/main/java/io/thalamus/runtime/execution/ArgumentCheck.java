// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.util.Locale;
import java.util.Optional;

/** Compares what a caller gave with what the model wants. Stateless. */
final class ArgumentCheck {
  private ArgumentCheck() {}

  /** An argument does not fit; the message names it, and both sides. */
  static final class Mismatch extends Exception {
    private static final long serialVersionUID = 1L;

    Mismatch(String message) {
      super(message);
    }
  }

  /**
   * The name of an argument for people, put together when a message needs it.
   *
   * @param direction input or output
   * @param index among those of the model
   * @param operand that it is for
   */
  record Place(String direction, int index, Operand operand) {
    @Override
    public String toString() {
      String name = operand.name().isEmpty() ? "" : " '" + operand.name() + "'";
      return direction + " " + index + name;
    }
  }

  /** Returns the dimensions of the model and the caller together; still open ones are 0. */
  static Shape combine(Place place, Operand operand, Shape given) throws Mismatch {
    Shape model = operand.shape();
    if (given.rank() == 0) {
      return model;
    }
    Optional<Shape> combined = operand.type().isTensor() ? model.combine(given) : Optional.empty();
    return combined.orElseThrow(
        () -> new Mismatch(place + " is " + model + ", got the shape " + given));
  }

  /** Checks an input of a length above 0 with its combined dimensions. */
  static void input(Place place, Operand operand, long length) throws Mismatch {
    if (!operand.isSizeKnown()) {
      throw new Mismatch(
          place + " has open dimensions (" + operand.shape() + "): give its shape with its value");
    }
    size(place, operand, length);
  }

  /** Checks an output of a length above 0 with its combined dimensions. */
  static void output(Place place, Operand operand, long length) throws Mismatch {
    if (operand.isSizeKnown()) {
      size(place, operand, length);
    }
  }

  private static void size(Place place, Operand operand, long length) throws Mismatch {
    long wanted;
    try {
      wanted = operand.byteSize();
    } catch (ArithmeticException e) {
      throw new Mismatch(place + " would be larger than any memory: " + operand.shape());
    }
    if (wanted != length) {
      String dimensions = operand.type().isTensor() ? operand.shape() + " " : "";
      throw new Mismatch(
          String.format(
              Locale.ROOT,
              "%s wants %,d bytes (%s%s), got %,d",
              place,
              wanted,
              dimensions,
              operand.type().text(),
              length));
    }
  }
}
