// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Checks one operation against its signature and collects the least feature level on the way: what
 * an {@link OperationDefinition} is validated with. Used by one thread for one validation. Indexes
 * of inputs and outputs must exist; check their number first.
 */
public final class Check {
  private final OperationView operation;
  private FeatureLevel level;

  /** A check of an operation that exists since a feature level. */
  public Check(OperationView operation, FeatureLevel introducedIn) {
    this.operation = operation;
    this.level = introducedIn;
  }

  /** The least feature level by what was checked so far. */
  public FeatureLevel level() {
    return level;
  }

  /** The operation needs this feature level in the form that it has. */
  public Check atLeast(FeatureLevel needed) {
    level = FeatureLevel.max(level, needed);
    return this;
  }

  /** The operation has one of these numbers of inputs. */
  public Check inputCount(int... allowed) throws ValidationException {
    return count("inputs", operation.inputs().size(), allowed);
  }

  /** The operation has one of these numbers of outputs. */
  public Check outputCount(int... allowed) throws ValidationException {
    return count("outputs", operation.outputs().size(), allowed);
  }

  private Check count(String what, int actual, int[] allowed) throws ValidationException {
    for (int count : allowed) {
      if (count == actual) {
        return this;
      }
    }
    throw new ValidationException(
        "it has "
            + actual
            + " "
            + what
            + ", but takes "
            + Arrays.stream(allowed)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(" or ")));
  }

  /** The type of an input, which must be there and be one of those given; its level counts. */
  public OperandCode inputType(int index, TypeLevels allowed) throws ValidationException {
    present(index);
    OperandType type = operation.input(index).type();
    if (!(type instanceof OperandCode code) || allowed.level(code) == null) {
      throw new ValidationException(
          "input " + index + " is " + type.text() + ", but must be one of " + allowed.types());
    }
    atLeast(allowed.level(code));
    return code;
  }

  /** The input is there and of one of these types. */
  public Check inputType(int index, OperandType... allowed) throws ValidationException {
    return present(index).type("input " + index, operation.input(index).type(), allowed);
  }

  /** The input may be left out, but is of one of these types also then. */
  public Check optionalInputType(int index, OperandType... allowed) throws ValidationException {
    return type("input " + index, operation.input(index).type(), allowed);
  }

  /** An output is of one of these types. */
  public Check outputType(int index, OperandType... allowed) throws ValidationException {
    return type("output " + index, operation.output(index).type(), allowed);
  }

  private Check present(int index) throws ValidationException {
    return that(!operation.input(index).isOmitted(), "input " + index + " must not be left out");
  }

  private Check type(String place, OperandType actual, OperandType[] allowed)
      throws ValidationException {
    for (OperandType type : allowed) {
      if (type.equals(actual)) {
        return this;
      }
    }
    throw new ValidationException(
        place
            + " is "
            + actual.text()
            + ", but must be "
            + Arrays.stream(allowed).map(OperandType::text).collect(Collectors.joining(" or ")));
  }

  /** Each of the inputs from an index on that is there has the type given at its place. */
  public Check inputTypesFrom(int first, OperandType... types) throws ValidationException {
    for (int i = first; i < operation.inputs().size(); i++) {
      inputType(i, types[i - first]);
    }
    return this;
  }

  /** The rank of an input, where it is known, is within these bounds. */
  public Check inputRank(int index, int least, int most) throws ValidationException {
    OperandView input = operation.input(index);
    if (input.isRankKnown() && (input.shape().rank() < least || input.shape().rank() > most)) {
      throw new ValidationException(
          "input "
              + index
              + " has rank "
              + input.shape().rank()
              + ", but must have "
              + (least == most ? "" + least : least + " to " + most));
    }
    return this;
  }

  /** The fused activation at an index, where its value is known, is one. */
  public Check activation(int index) throws ValidationException {
    that(index < operation.inputs().size(), "it has no activation");
    inputType(index, OperandCode.INT32);
    if (operation.input(index).value().isPresent()) {
      FusedActivation.ofCode(operation.input(index).int32());
    }
    return this;
  }

  /** The output is quantized in the one way that the operation prescribes. */
  public Check quantization(Quantization wanted) throws ValidationException {
    Quantization actual = operation.output().quantization();
    return that(
        actual.equals(wanted), "the result must be quantized as " + wanted + ", but is " + actual);
  }

  /** An input and an output are quantized alike. */
  public Check sameQuantization(OperandView a, OperandView b) throws ValidationException {
    return that(
        a.quantization().equals(b.quantization()),
        "scale and zero point differ: " + a.quantization() + " and " + b.quantization());
  }

  /** Two known shapes are equal. */
  public Check sameShape(OperandView a, OperandView b) throws ValidationException {
    Shape x = a.shape();
    Shape y = b.shape();
    return that(
        !a.isShapeKnown() || !b.isShapeKnown() || x.equals(y), "shapes differ: " + x + " and " + y);
  }

  /** A rule holds; {@code broken} says what is wrong where it does not. */
  public Check that(boolean condition, String broken) throws ValidationException {
    if (!condition) {
      throw new ValidationException(broken);
    }
    return this;
  }
}
