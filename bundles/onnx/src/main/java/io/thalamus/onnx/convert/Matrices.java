// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.LittleEndian;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** Products of matrices. */
final class Matrices {
  /** Of the differences of two 8-bit integers each. */
  private static final long MOST_PRODUCT = 255 * 255;

  /** All integers up to this one are floats. */
  private static final long FIRST_ROUNDED = 1 << 24;

  private static final int MAX_MINORS = 4;

  private Matrices() {}

  static void addTo(Converters table) {
    table.add("Det", Matrices::determinant);
    table.add(Fused.DOMAIN + "Inverse", Matrices::inverse);
    table.add("MatMul", node -> node.out(node.ops().matmul(node.openIn(0), node.openIn(1))));
    table.add("Gemm", Matrices::gemm);
    table.add("MatMulInteger", Matrices::matmulInteger);
    table.add(Fused.DOMAIN + "MatMulInteger16", Matrices::matmulInteger16);
  }

  private static void gemm(Node node) {
    Ops ops = node.ops();
    Value a = node.openIn(0);
    Value stored = node.openIn(1);
    node.require(a.rank() == 2 && stored.rank() == 2, "its inputs are no matrices");
    if (node.flag("transA", false)) {
      a = ops.transpose(a, 1, 0);
    }
    boolean isByColumn = node.flag("transB", false);
    int columns = stored.dim(isByColumn ? 0 : 1);
    node.require(
        a.type().isFloat() || node.real("alpha", 1) == 1 && node.real("beta", 1) == 1,
        "its factors are no integers");
    double alpha = node.real("alpha", 1);
    double beta = node.real("beta", 1);
    Value bias = node.has(2) && beta != 0 ? ops.mul(node.openIn(2), beta) : null;
    boolean isLayer =
        a.type().isFloat()
            && stored.isConstant()
            && !a.isConstant()
            && alpha == 1
            && bias != null
            && bias.isConstant()
            && (bias.rank() == 1 && bias.dim(0) == columns
                || bias.rank() == 2 && bias.dim(0) == 1 && bias.dim(1) == columns);
    if (isLayer) {
      Value weights = isByColumn ? stored : ops.transpose(stored, 1, 0);
      node.out(ops.fullyConnected(a, weights, ops.flat(bias)));
      return;
    }
    Value b = isByColumn ? ops.transpose(stored, 1, 0) : stored;
    Value product = ops.mul(ops.matmul(a, b), alpha);
    node.out(bias == null ? product : ops.add(product, bias));
  }

  private static void matmulInteger(Node node) {
    node.out(product(node, node.in(0), node.inOrNull(2), 3));
  }

  /**
   * The product of 8-bit integers, each less its zero point, and the second input.
   *
   * @param zero of the first matrix, one for each row or for all; null for 0
   * @param secondZero the input with the zero points of the second, as {@link #shifted} takes them
   */
  static Value product(Node node, Value first, Value zero, int secondZero) {
    Ops ops = node.ops();
    Value second = node.in(1);
    Value other = node.inOrNull(secondZero);
    boolean isDirect =
        first.type().is8Bit()
            && !first.isConstant()
            && first.count() > 0
            && second.isConstant()
            && second.rank() == 2
            && second.count() > 0
            && (zero == null || zero.count() == 1)
            && (other == null || isOneNumber(other));
    if (isDirect) {
      node.require(
          first.rank() > 0 && first.dim(first.rank() - 1) == second.dim(0),
          first.text() + " and " + second.text() + " cannot be multiplied");
      return direct(
          ops, first, zero, second, other == null ? 0 : (int) other.constant().integer(0));
    }
    Value a = shifted(ops, first, zero, true, DataType.FLOAT);
    Value b = shifted(ops, second, other, false, DataType.FLOAT);
    return sums(
        ops.matmul(a, b),
        a.dim(a.rank() - 1),
        ops,
        () ->
            ops.matmul(
                shifted(ops, first, zero, true, DataType.INT32),
                shifted(ops, second, other, false, DataType.INT32)));
  }

  private static void matmulInteger16(Node node) {
    Ops ops = node.ops();
    Value first = ops.cast(node.in(0), DataType.INT32);
    node.out(ops.matmul(first, ops.cast(node.in(1), DataType.INT32)));
  }

  private static boolean isOneNumber(Value value) {
    return value.isConstant()
        && IntStream.range(1, value.count())
            .allMatch(i -> value.constant().integer(i) == value.constant().integer(0));
  }

  /** By MATMUL_INTEGER; a zero point that an execution finds is subtracted from its results. */
  private static Value direct(Ops ops, Value first, Value zero, Value weights, int weightsZero) {
    Value sums =
        ops.emit(
            DataType.INT32,
            ThalamusExtension.MATMUL_INTEGER,
            ops.operand(first),
            ops.constant(weights, io.thalamus.model.Quantization.of(1, weightsZero)));
    if (zero == null) {
      return sums;
    }
    MemorySegment ofUnits =
        ops.made(
            weights.constant().bytes(),
            (long) weights.dim(1) * Integer.BYTES,
            List.of(weights.type(), weights.dim(1), weightsZero),
            () -> ofUnits(weights, weightsZero));
    Value ofPoint = Value.of(new Tensor(DataType.INT32, new int[] {weights.dim(1)}, ofUnits));
    return ops.sub(sums, ops.mul(ops.cast(ops.reshape(zero), DataType.INT32), ofPoint));
  }

  /** Returns for each column the sum of its weights, less their zero points. */
  private static MemorySegment ofUnits(Value weights, int weightsZero) {
    int[] sums = new int[weights.dim(1)];
    MemorySegment bytes = weights.constant().bytes();
    int mask = weights.type().isSigned8Bit() ? -1 : 0xFF;
    long at = 0;
    for (int i = 0; i < weights.dim(0); i++) {
      for (int unit = 0; unit < sums.length; unit++) {
        sums[unit] += (bytes.get(ValueLayout.JAVA_BYTE, at++) & mask) - weightsZero;
      }
    }
    MemorySegment stored = MemorySegment.ofArray(new byte[sums.length * Integer.BYTES]);
    MemorySegment.copy(sums, 0, stored, LittleEndian.INT, 0, sums.length);
    return stored;
  }

  /**
   * Sums of products of 8-bit integers, computed as floats, which devices are fast at. What makes
   * real numbers of them gets these; what reads integers gets the exact sums.
   *
   * @param depth of how many products each is a sum
   * @param exact computes with integers
   */
  static Value sums(Value real, long depth, Ops ops, Supplier<Value> exact) {
    boolean isExact = depth * MOST_PRODUCT <= FIRST_ROUNDED;
    return Value.ofReal(
        DataType.INT32, real, isExact ? () -> ops.cast(real, DataType.INT32) : exact);
  }

  /** An 8-bit matrix less its zero points, in a type. */
  private static Value shifted(Ops ops, Value value, Value zero, boolean isFirst, DataType type) {
    return zero == null
        ? ops.cast(value, type)
        : ops.difference(value, isFirst ? ofRows(ops, zero) : point(ops, zero), type);
  }

  /** The values that belong to all columns, or to each. */
  static Value point(Ops ops, Value value) {
    return value.count() == 1 ? ops.reshape(value) : value;
  }

  /** The values that belong to all rows, or to each. */
  static Value ofRows(Ops ops, Value value) {
    return value.rank() == 1 && value.count() > 1
        ? ops.reshape(value, value.count(), 1)
        : point(ops, value);
  }

  /** By minors along the first rows. */
  private static void determinant(Node node) {
    node.out(minor(node.ops(), elements(node), 0, 0));
  }

  /** The elements of square matrices; of four rows at most, since there are n! products. */
  private static Value[][] elements(Node node) {
    Value value = node.in(0);
    int rank = value.rank();
    int size = rank < 2 ? 0 : value.dim(rank - 1);
    node.require(
        size > 0 && size <= MAX_MINORS && value.dim(rank - 2) == size && value.type().isFloat(),
        "it is of " + value.text() + ", and not of up to " + MAX_MINORS + " rows and columns");
    Value[][] elements = new Value[size][size];
    for (int i = 0; i < size; i++) {
      Value row = node.ops().at(value, rank - 2, i);
      for (int j = 0; j < size; j++) {
        elements[i][j] = node.ops().at(row, rank - 2, j);
      }
    }
    return elements;
  }

  /** The minors of each element, turned, with alternating signs, by the determinant. */
  private static void inverse(Node node) {
    Ops ops = node.ops();
    Value[][] elements = elements(node);
    int size = elements.length;
    Value factor = ops.reciprocal(minor(ops, elements, 0, 0));
    List<Value> cells = new ArrayList<>();
    for (int column = 0; column < size; column++) {
      for (int row = 0; row < size; row++) {
        Value cell = factor;
        if (size > 1) {
          Value[][] rest = elements.clone();
          System.arraycopy(elements, 0, rest, 1, row);
          Value rests = minor(ops, rest, 1, 1 << column);
          cell = ops.mul((row + column) % 2 == 0 ? rests : ops.unary(Unary.NEG, rests), factor);
        }
        cells.add(cell);
      }
    }
    node.out(ops.reshape(ops.stack(cells, factor.rank()), node.in(0).shape()));
  }

  /** The determinant of the rows from one on, without the columns of a set. */
  private static Value minor(Ops ops, Value[][] elements, int row, int without) {
    Value sum = null;
    boolean isAdded = true;
    for (int j = 0; j < elements.length; j++) {
      if ((without >> j & 1) == 0) {
        Value factor = elements[row][j];
        Value product =
            row == elements.length - 1
                ? factor
                : ops.mul(factor, minor(ops, elements, row + 1, without | 1 << j));
        sum = sum == null ? product : isAdded ? ops.add(sum, product) : ops.sub(sum, product);
        isAdded = !isAdded;
      }
    }
    return sum;
  }
}
