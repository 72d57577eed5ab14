// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongBinaryOperator;

/** The functions of two values with broadcasting, each with how it is computed of known values. */
enum Binary {
  ADD(OperationCode.ADD, Kind.ARITHMETIC, Double::sum, Long::sum),
  SUB(OperationCode.SUB, Kind.ARITHMETIC, (a, b) -> a - b, (a, b) -> a - b),
  MUL(OperationCode.MUL, Kind.ARITHMETIC, (a, b) -> a * b, (a, b) -> a * b),
  /** Of integers: towards zero. */
  DIV(OperationCode.DIV, Kind.ARITHMETIC, (a, b) -> a / b, (a, b) -> b == 0 ? 0 : a / b),
  /** The largest integer that is not more than the quotient. */
  FLOOR_DIV(
      ThalamusExtension.FLOOR_DIV,
      Kind.VALUE,
      (a, b) -> Math.floor(a / b),
      (a, b) -> b == 0 ? 0 : Math.floorDiv(a, b)),
  POW(OperationCode.POW, Kind.VALUE, Math::pow, Binary::power),
  MAXIMUM(OperationCode.MAXIMUM, Kind.CHOICE, Math::max, Math::max),
  MINIMUM(OperationCode.MINIMUM, Kind.CHOICE, Math::min, Math::min),
  EQUAL(OperationCode.EQUAL, Kind.QUESTION, (a, b) -> bit(a == b), (a, b) -> a == b ? 1 : 0),
  NOT_EQUAL(
      OperationCode.NOT_EQUAL, Kind.QUESTION, (a, b) -> bit(a != b), (a, b) -> a != b ? 1 : 0),
  LESS(OperationCode.LESS, Kind.QUESTION, (a, b) -> bit(a < b), (a, b) -> a < b ? 1 : 0),
  LESS_EQUAL(
      OperationCode.LESS_EQUAL, Kind.QUESTION, (a, b) -> bit(a <= b), (a, b) -> a <= b ? 1 : 0),
  GREATER(OperationCode.GREATER, Kind.QUESTION, (a, b) -> bit(a > b), (a, b) -> a > b ? 1 : 0),
  GREATER_EQUAL(
      OperationCode.GREATER_EQUAL, Kind.QUESTION, (a, b) -> bit(a >= b), (a, b) -> a >= b ? 1 : 0),
  AND(OperationCode.LOGICAL_AND, Kind.QUESTION, (a, b) -> a * b, (a, b) -> a & b),
  OR(OperationCode.LOGICAL_OR, Kind.QUESTION, Math::max, (a, b) -> a | b);

  /** The kind of a function, by its results and arguments. */
  enum Kind {
    /** Numbers; of at most four dimensions, and with an activation. */
    ARITHMETIC,
    /** Numbers. */
    VALUE,
    /** One of the two. */
    CHOICE,
    /** Truth values. */
    QUESTION
  }

  private final OperationType operation;
  private final Kind kind;
  private final DoubleBinaryOperator reals;
  private final LongBinaryOperator integers;

  Binary(
      OperationType operation, Kind kind, DoubleBinaryOperator reals, LongBinaryOperator integers) {
    this.operation = operation;
    this.kind = kind;
    this.reals = reals;
    this.integers = integers;
  }

  OperationType operation() {
    return operation;
  }

  Kind kind() {
    return kind;
  }

  DoubleBinaryOperator reals() {
    return reals;
  }

  LongBinaryOperator integers() {
    return integers;
  }

  private static double bit(boolean value) {
    return value ? 1 : 0;
  }

  private static long power(long base, long exponent) {
    return (long) Math.pow(base, exponent);
  }
}
