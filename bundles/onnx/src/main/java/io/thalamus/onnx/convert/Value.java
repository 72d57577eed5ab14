// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.onnx.layout.Grid;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.Supplier;

/**
 * A value of a graph under conversion: known, or held by an operand. Its shape is ONNX's; an
 * operand of a scalar has one dimension of size 1.
 */
final class Value {
  private static final int NO_OPERAND = -1;

  /** A value or a list that is left out. */
  static final Value NONE = ofSequence(List.of());

  private final DataType type;
  private final int[] shape;

  /** Null where there is none, and where nobody has asked yet for the real numbers of bytes. */
  private Tensor constant;

  private int operand;

  /** An operand of the same integers with their scale and zero point, where there is one. */
  private int stored = NO_OPERAND;

  /** The integers that a constant is stored as, and what they stand for; null where none are. */
  private Value bytes;

  private Grid grid;
  private Budget budget;

  /** The same numbers as floats, and what makes integers of them; both are null where none are. */
  private Value real;

  private Supplier<Value> integers;
  private boolean isOpen;
  private List<Value> parts;
  private Value rows;
  private Value turned;
  private Sizes sizes;
  private Origin origin = Origin.OTHER;

  /** The way to real numbers that decides on how they are rounded. */
  enum Origin {
    OTHER,
    /** DequantizeLinear of 8-bit integers. */
    BYTES,
    /** The means of such numbers, by AveragePool. */
    MEANS_OF_BYTES
  }

  private Value(DataType type, int[] shape, Tensor constant, int operand) {
    this.type = type;
    this.shape = shape;
    this.constant = constant;
    this.operand = operand;
  }

  static Value of(Tensor constant) {
    return new Value(constant.type(), constant.shape(), constant, NO_OPERAND);
  }

  /** A value of which only an execution determines the dimensions that are 0 here. */
  static Value ofOpen(DataType type, int[] shape, int operand) {
    Value value = of(type, shape, operand);
    value.isOpen = true;
    return value;
  }

  /** A list of values, which stands in no operand. */
  static Value ofSequence(List<Value> parts) {
    Value value = new Value(DataType.FLOAT, new int[0], null, NO_OPERAND);
    value.parts = List.copyOf(parts);
    return value;
  }

  /** A list of which only an execution determines the length; its values are alike. */
  static Value ofRows(Value rows) {
    Value value = new Value(rows.type, new int[0], null, NO_OPERAND);
    value.rows = rows;
    return value;
  }

  /** The values of a list as the rows of one; null where it is no such list. */
  Value rows() {
    return rows;
  }

  boolean isSequence() {
    return parts != null || rows != null;
  }

  /** The values of a list; null where it is no list. */
  List<Value> parts() {
    return parts;
  }

  /** Integers that were computed as floats. */
  static Value ofReal(DataType type, Value real, Supplier<Value> integers) {
    Value value = new Value(type, real.shape, null, NO_OPERAND);
    value.real = real;
    value.integers = integers;
    return value;
  }

  static Value of(DataType type, int[] shape, int operand) {
    return new Value(type, shape, null, operand);
  }

  DataType type() {
    return type;
  }

  /** The dimensions; not to be changed. */
  int[] shape() {
    return shape;
  }

  int rank() {
    return shape.length;
  }

  int dim(int axis) {
    return shape[axis];
  }

  int count() {
    return Dims.count(shape);
  }

  /** Returns whether only an execution determines the size. */
  boolean isOpen() {
    return isOpen;
  }

  /** Returns whether only an execution determines the size along another axis than the first. */
  boolean isOpenInside() {
    return isOpen && Dims.count(shape, 1, rank()) == 0;
  }

  /** The same with its two axes swapped, where that is known; else null. */
  Value turned() {
    return turned;
  }

  void setTurned(Value other) {
    turned = other;
  }

  /** What is known of computed sizes; null where it is nothing. */
  Sizes sizes() {
    return sizes;
  }

  /** The same computed value, of which something is known. */
  Value with(Sizes known) {
    Value value = as(shape);
    value.isOpen = isOpen;
    value.turned = turned;
    value.sizes = known;
    return value;
  }

  Origin origin() {
    return origin;
  }

  /** The same known or computed value, of which the origin is known. */
  Value from(Origin known) {
    Value value = as(shape);
    value.origin = known;
    return value;
  }

  boolean isConstant() {
    return constant != null || grid != null;
  }

  /** The value of a constant; null where it is none. */
  Tensor constant() {
    if (constant == null && grid != null) {
      constant = grid.real(bytes.constant(), budget);
    }
    return constant;
  }

  boolean hasOperand() {
    return operand != NO_OPERAND;
  }

  int operand() {
    return operand;
  }

  /** Keeps the operand that was made for a constant. */
  void setOperand(int index) {
    operand = index;
  }

  /** The operand that holds 8-bit integers with their scale and zero point, where there is one. */
  OptionalInt stored() {
    return stored == NO_OPERAND ? OptionalInt.empty() : OptionalInt.of(stored);
  }

  /** 8-bit integers of an operand with a scale and a zero point. */
  static Value ofStored(DataType type, int[] shape, int stored) {
    Value value = new Value(type, shape, null, NO_OPERAND);
    value.stored = stored;
    return value;
  }

  /** The same numbers as floats, where integers were computed so; else null. */
  Value real() {
    return real;
  }

  /** What makes the operand of integers that were computed as floats; else null. */
  Supplier<Value> integers() {
    return integers;
  }

  /** A constant of real numbers that is stored as integers. */
  static Value onGrid(Value bytes, Grid grid, Budget budget) {
    Value value = new Value(grid.type(), bytes.shape, null, NO_OPERAND);
    value.bytes = bytes;
    value.grid = grid;
    value.budget = budget;
    return value;
  }

  /** The 8-bit integers that a constant is stored as; null where it is not. */
  Value bytes() {
    return bytes;
  }

  /** The real numbers that they stand for; null where there are none. */
  Grid grid() {
    return grid;
  }

  /** The same elements under another shape. */
  Value as(int... changed) {
    Grid moved = grid == null ? null : grid.reshaped(shape, changed);
    if (moved != null) {
      return onGrid(bytes.as(changed), moved, budget);
    }
    Value value =
        new Value(type, changed, isConstant() ? constant().reshape(changed) : null, NO_OPERAND);
    if (!isConstant()) {
      value.operand = operand;
      value.stored = stored;
      if (real != null) {
        value.real = real.as(changed);
        value.integers = () -> integers.get().as(changed);
      }
    }
    return value;
  }

  /** For people: {@code FLOAT 1x3x8}. */
  String text() {
    return type + " " + Dims.text(shape);
  }
}
