// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.ArgumentType.Choice;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A check of one operation, which collects the least feature level on the way. Used by one thread
 * for one validation.
 */
public final class Check {
  private FeatureLevel level;

  /** A check of an operation that exists since a feature level. */
  Check(FeatureLevel introducedIn) {
    this.level = introducedIn;
  }

  /** Returns the least feature level by what was checked so far. */
  FeatureLevel level() {
    return level;
  }

  /** Raises the level to one that the operation needs in the form that it has. */
  public Check atLeast(FeatureLevel needed) {
    level = FeatureLevel.max(level, needed);
    return this;
  }

  /** Demands a condition; {@code broken} says what is wrong where it does not hold. */
  public Check that(boolean condition, String broken) throws ValidationException {
    if (!condition) {
      throw new ValidationException(broken);
    }
    return this;
  }

  /** Demands that two operands are quantized alike. */
  public Check sameQuantization(OperandView a, OperandView b) throws ValidationException {
    return a.quantization().equals(b.quantization())
        ? this
        : that(
            false, "scale and zero point differ: " + a.quantization() + " and " + b.quantization());
  }

  /** Demands that two shapes are equal where both are known. */
  public Check sameShape(OperandView a, OperandView b) throws ValidationException {
    Shape x = a.shape();
    Shape y = b.shape();
    return !a.isShapeKnown() || !b.isShapeKnown() || x.equals(y)
        ? this
        : that(false, "shapes differ: " + x + " and " + y);
  }

  /** Demands that the rank of an input, where it is known, is within these bounds. */
  Check rank(OperationView operation, int input, int least, int most) throws ValidationException {
    checkRank(input, operation.input(input), least, most);
    return this;
  }

  /** Demands that an input has the type of another one, where several are allowed. */
  Check sameType(OperationView operation, int first, int second) throws ValidationException {
    OperandType wanted = operation.input(first).type();
    OperandType actual = operation.input(second).type();
    return that(
        actual.equals(wanted),
        "input " + second + " is " + actual.text() + ", but must be " + wanted.text());
  }

  /** Demands the quantization that an operation gives its results, where it does. */
  void quantization(Optional<Quantization> wanted, OperandView actual) throws ValidationException {
    if (wanted.isPresent() && !wanted.get().equals(actual.quantization())) {
      throw new ValidationException(
          "the result must be quantized as " + wanted.get() + ", but is " + actual.quantization());
    }
  }

  /**
   * Checks the type of the data, and returns it.
   *
   * @param side "input " or "output "
   */
  OperandCode data(String side, int index, TypeLevels allowed, OperandView actual)
      throws ValidationException {
    if (!(actual.type() instanceof OperandCode code) || allowed.level(code) == null) {
      boolean isSingle = allowed.types().size() == 1;
      throw new ValidationException(
          side
              + index
              + " is "
              + actual.type().text()
              + ", but must be "
              + (isSingle ? allowed.types().iterator().next() : "one of " + allowed.types()));
    }
    atLeast(allowed.level(code));
    return code;
  }

  /** Checks that an input is there where it must be. */
  void presence(int input, Argument argument, OperandView actual) throws ValidationException {
    // Checked for each input of each operation: a message is put together only when it is needed.
    if (actual.isOmitted() && !argument.isOmittable() && argument.type() != ArgumentType.ANY) {
      throw new ValidationException("input " + input + " must not be left out");
    }
  }

  /**
   * Checks the type of an argument, also where it is left out.
   *
   * @param side "input " or "output "
   */
  void type(
      String side, int index, Argument argument, OperandView actual, Optional<OperandCode> data)
      throws ValidationException {
    argument.since().ifPresent(this::atLeast);
    if (argument.type() == ArgumentType.ANY) {
      return;
    }
    for (Choice choice : argument.type().choices()) {
      if (choice.isFor(data) && type(choice, data).equals(actual.type())) {
        atLeast(choice.since());
        return;
      }
    }
    throw new ValidationException(
        side
            + index
            + " is "
            + actual.type().text()
            + ", but must be "
            + argument.type().choices(data).stream()
                .map(choice -> type(choice, data).text())
                .collect(Collectors.joining(" or ")));
  }

  private static OperandType type(Choice choice, Optional<OperandCode> data) {
    return choice.type().orElseGet(data::orElseThrow);
  }

  /** Checks the rank of an argument and the code of a fused activation, where they are known. */
  void value(int input, Argument argument, OperandView actual) throws ValidationException {
    checkRank(input, actual, argument.leastRank(), argument.mostRank());
    if (argument.isFusedActivation() && actual.value().isPresent()) {
      FusedActivation.ofCode(actual.int32());
    }
  }

  private static void checkRank(int input, OperandView actual, int least, int most)
      throws ValidationException {
    int rank = actual.shape().rank();
    if (!actual.isOmitted() && actual.isRankKnown() && (rank < least || rank > most)) {
      throw new ValidationException(
          "input %s has rank %s, but must have %s"
              .formatted(input, rank, least == most ? "" + least : least + " to " + most));
    }
  }
}
