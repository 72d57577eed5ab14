// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.List;

/** Sums and products: operations that read many elements for each of their results. */
final class Ops extends MathOps {
  private static final int MAX_RANK = 4;

  Ops(DataFiles files, OperationCatalog catalog, Budget budget) {
    super(files, catalog, budget);
  }

  // ---- steps that values take whose sizes only an execution determines, too ----

  @Override
  Value binary(Binary function, Value a, Value b) {
    return a.isOpen() || b.isOpen()
        ? OpenSizes.binary(this, function, a, b)
        : super.binary(function, a, b);
  }

  @Override
  Value unary(Unary function, Value value) {
    return value.isOpen() ? OpenSizes.unary(this, function, value) : super.unary(function, value);
  }

  @Override
  Value not(Value value) {
    return value.isOpen() ? OpenSizes.not(this, value) : super.not(value);
  }

  @Override
  Value select(Value condition, Value a, Value b) {
    return condition.isOpen() || a.isOpen() || b.isOpen()
        ? OpenSizes.select(this, condition, a, b)
        : super.select(condition, a, b);
  }

  @Override
  Value cast(Value value, DataType type) {
    return value.isOpen() && value.type() != type
        ? OpenSizes.cast(this, value, type)
        : super.cast(value, type);
  }

  @Override
  Value reshape(Value value, int... shape) {
    return value.isOpen() ? OpenSizes.reshape(this, value, shape) : super.reshape(value, shape);
  }

  @Override
  Value flat(Value value) {
    return value.isOpen() ? OpenSizes.flat(this, value) : super.flat(value);
  }

  @Override
  Value transpose(Value value, int... order) {
    return value.isOpen() ? OpenSizes.transpose(this, value, order) : super.transpose(value, order);
  }

  @Override
  Value reverse(Value value, int axis) {
    return value.isOpen() ? OpenSizes.reverse(this, value, axis) : super.reverse(value, axis);
  }

  @Override
  Value gather(Value value, int axis, Value indexes) {
    return value.isOpen() || indexes.isOpen()
        ? OpenSizes.gather(this, value, axis, indexes)
        : super.gather(value, axis, indexes);
  }

  @Override
  Value part(Value value, int axis, int start, int size) {
    return value.isOpen()
        ? OpenSizes.part(this, value, axis, start, number(DataType.INT64, size))
        : super.part(value, axis, start, size);
  }

  @Override
  Value concat(List<Value> values, int axis) {
    return values.stream().anyMatch(Value::isOpen)
        ? OpenSizes.concat(this, values, axis)
        : super.concat(values, axis);
  }

  // ---- many elements for one ----

  /** The ways to reduce dimensions to one element. */
  enum Reduction {
    SUM(OperationCode.REDUCE_SUM, Binary.ADD, 0),
    MEAN(OperationCode.MEAN, Binary.ADD, Double.NaN),
    MAX(OperationCode.REDUCE_MAX, Binary.MAXIMUM, Double.NEGATIVE_INFINITY),
    MIN(OperationCode.REDUCE_MIN, Binary.MINIMUM, Double.POSITIVE_INFINITY),
    PRODUCT(OperationCode.REDUCE_PROD, Binary.MUL, 1);

    private final OperationCode operation;
    private final Binary pair;
    private final double ofNone;

    /** With what elements are reduced to where there are none. */
    Reduction(OperationCode operation, Binary pair, double ofNone) {
      this.operation = operation;
      this.pair = pair;
      this.ofNone = ofNone;
    }
  }

  /** The elements along some axes made one; the axes stay with size 1. */
  Value reduce(Reduction kind, Value value, int... axes) {
    if (axes.length == 0) {
      return value;
    }
    int[] kept = value.shape().clone();
    for (int axis : axes) {
      kept[axis] = 1;
    }
    if (value.isOpen()) {
      return value.type().isFloat() && value.rank() <= MAX_RANK
          ? nativeReduction(kind, value, kept, axes)
          : OpenSizes.sum(this, kind, value, kept, axes);
    }
    if (value.count() == 0) {
      DataType type = value.type();
      boolean isExtreme = Double.isInfinite(kind.ofNone) && !type.isFloat();
      double most = kind == Reduction.MAX ? type.least() : type.most();
      return fill(type, kept, isExtreme ? most : kind.ofNone);
    }
    boolean isOne = Dims.count(kept) == value.count();
    if (isOne) {
      return reshape(value, kept);
    }
    boolean isNative =
        value.type().isFloat()
            || value.type().is8Bit() && (kind == Reduction.MAX || kind == Reduction.MIN);
    if (!value.isConstant() && isNative && value.rank() <= MAX_RANK) {
      return nativeReduction(kind, value, kept, axes);
    }
    int outer = Dims.count(kept);
    Value rows = reshape(toEnd(value, axes), outer, value.count() / outer);
    Value column;
    if (!value.isConstant() && isNative) {
      column = nativeReduction(kind, rows, new int[] {outer, 1}, 1);
    } else if (kind == Reduction.MEAN) {
      Value sum = byPairs(Binary.ADD, rows);
      column = div(sum, number(value.type(), rows.dim(1)));
    } else {
      column = byPairs(kind.pair, rows);
    }
    return reshape(column, kept);
  }

  private Value nativeReduction(Reduction kind, Value value, int[] kept, int... axes) {
    return emitSized(
        value.type(),
        kept,
        kind.operation,
        operand(value),
        int32Vector(axes),
        kind == Reduction.MEAN ? int32(1) : bool(true));
  }

  /** Reduces the rows of a matrix by halves. */
  private Value byPairs(Binary pair, Value rows) {
    Value left = rows;
    while (left.dim(1) > 1) {
      int half = left.dim(1) / 2;
      Value joined = binary(pair, part(left, 1, 0, half), part(left, 1, half, half));
      left =
          left.dim(1) % 2 == 0
              ? joined
              : concat(List.of(joined, part(left, 1, left.dim(1) - 1, 1)), 1);
    }
    return left;
  }

  /** The product of matrices, with ONNX's rules for vectors and for more dimensions. */
  Value matmul(Value a, Value b) {
    require(a.rank() > 0 && b.rank() > 0, "it multiplies scalars as matrices");
    if (a.rank() == 1) {
      Value product = matmul(reshape(a, 1, a.dim(0)), b);
      return reshape(product, Dims.remove(product.shape(), product.rank() - Math.min(2, b.rank())));
    }
    if (b.rank() == 1) {
      Value product = matmul(a, reshape(b, b.dim(0), 1));
      return reshape(product, Dims.remove(product.shape(), product.rank() - 1));
    }
    int width = a.dim(a.rank() - 1);
    int height = b.dim(b.rank() - 2);
    boolean isOpen = a.isOpen() && width == 0 || b.isOpen() && height == 0;
    require(width == height || isOpen, a.text() + " and " + b.text() + " cannot be multiplied");
    if (!a.isOpen() && !b.isOpen() && (a.count() == 0 || b.count() == 0)) {
      return fill(a.type(), productShape(a, b, b.dim(b.rank() - 1)), 0);
    }
    boolean isLayer = a.type().isFloat() && b.rank() == 2 && b.isConstant() && !a.isConstant();
    if (isLayer && !isOpen && Dims.zeros(a.shape()) <= 1) {
      int[] shape = Dims.with(a.shape(), a.rank() - 1, b.dim(1));
      Value rows = reshape(a, Dims.count(a.shape(), 0, a.rank() - 1), b.dim(0));
      return reshape(fullyConnected(rows, transpose(b, 1, 0), null), shape);
    }
    return multiply(a, b, false);
  }

  private static int[] productShape(Value a, Value b, int columns) {
    int[] first = Arrays.copyOf(a.shape(), a.rank() - 2);
    int[] stacks = OpenSizes.broadcast(first, Arrays.copyOf(b.shape(), b.rank() - 2));
    require(stacks != null, a.text() + " and " + b.text() + " cannot be multiplied");
    return Dims.join(stacks, new int[] {a.dim(a.rank() - 2), columns});
  }

  /** The products of matrices of any number of dimensions. */
  Value multiply(Value a, Value b, boolean isSecondTransposed) {
    return emitSized(
        a.type(),
        productShape(a, b, b.dim(b.rank() - (isSecondTransposed ? 2 : 1))),
        ThalamusExtension.BATCH_MATMUL,
        operand(a),
        operand(b),
        bool(false),
        bool(isSecondTransposed));
  }

  /** Rows times the rows of weights, and a bias where there is one. */
  Value fullyConnected(Value rows, Value weights, Value bias) {
    Value added = bias == null ? fill(rows.type(), new int[] {weights.dim(0)}, 0) : bias;
    return emitSized(
        rows.type(),
        new int[] {rows.dim(0), weights.dim(0)},
        OperationCode.FULLY_CONNECTED,
        operand(rows),
        operand(weights),
        operand(added),
        int32(0));
  }

  /** The exponentials along an axis divided by their sum, or the logarithms of that. */
  Value softmax(Value value, int axis, boolean isLog) {
    int inner = Dims.count(value.shape(), axis + 1, value.rank());
    boolean isDirect = value.rank() <= MAX_RANK && value.rank() > 0;
    Value rows =
        isDirect
            ? value
            : reshape(
                value,
                Dims.count(value.shape(), 0, axis),
                value.rank() == 0 ? 1 : value.dim(axis),
                inner);
    Value result =
        emitSized(
            rows.type(),
            rows.shape(),
            isLog ? OperationCode.LOG_SOFTMAX : OperationCode.SOFTMAX,
            operand(rows),
            real(1),
            int32(isDirect ? axis : 1));
    return isDirect ? result : reshape(result, value.shape());
  }

  /** The place of the largest or least element along an axis, without the axis. */
  Value place(Value value, int axis, boolean isLargest, boolean isLast) {
    Value ordered = value.type() == DataType.UINT32 ? Unsigned.turned(this, value) : value;
    Value seen = isLast ? reverse(ordered, axis) : ordered;
    Value place =
        emitSized(
            DataType.INT64,
            Dims.remove(value.shape(), axis),
            isLargest ? OperationCode.ARGMAX : OperationCode.ARGMIN,
            operand(seen),
            int32(axis));
    return isLast ? sub(add(OpenSizes.size(this, value, axis), -1), place) : place;
  }
}
