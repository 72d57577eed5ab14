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
   * The dimensions of the model and the caller together; still open ones are 0.
   *
   * @param place the name of the argument for people
   */
  static Shape combine(String place, Operand operand, Shape given) throws Mismatch {
    Shape model = operand.shape();
    if (given.rank() == 0) {
      return model;
    }
    Optional<Shape> combined = operand.type().isTensor() ? model.combine(given) : Optional.empty();
    return combined.orElseThrow(
        () -> new Mismatch(place + " is " + model + ", got the shape " + given));
  }

  /** Checks an input of a length above 0 with its combined dimensions. */
  static void input(String place, Operand operand, long length) throws Mismatch {
    if (!operand.isSizeKnown()) {
      throw new Mismatch(
          place + " has open dimensions (" + operand.shape() + "): give its shape with its value");
    }
    size(place, operand, length);
  }

  /** Checks an output of a length above 0 with its combined dimensions. */
  static void output(String place, Operand operand, long length) throws Mismatch {
    if (operand.isSizeKnown()) {
      size(place, operand, length);
    }
  }

  private static void size(String place, Operand operand, long length) throws Mismatch {
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
