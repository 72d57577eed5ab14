// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The steps of {@link Ops} on values of which only an execution determines a size, which is 0 here,
 * and others that such values need. Devices compute the shapes of what they write; so much is
 * derived here as operations have to know.
 */
final class OpenSizes {
  private static final int MAX_RANK = 4;
  private static final int REST = -1;

  private OpenSizes() {}

  private static void require(boolean condition, String what) {
    Emitter.require(condition, what + " has a size that only an execution tells");
  }

  private static boolean isReal(Value value) {
    return value.type().isFloat() && value.rank() <= MAX_RANK;
  }

  private static Value like(Ops ops, Value value, DataType type, OperationType operation) {
    return ops.emitSized(type, value.shape(), operation, ops.operand(value));
  }

  /** The sizes of what is broadcast, of which an unknown one fits any; null where they do not. */
  static int[] broadcast(int[] a, int... b) {
    int rank = Math.max(a.length, b.length);
    int[] shape = new int[rank];
    for (int i = 1; i <= rank; i++) {
      int x = i > a.length ? 1 : a[a.length - i];
      int y = i > b.length ? 1 : b[b.length - i];
      if (x != y && x > 1 && y > 1) {
        return null;
      }
      shape[rank - i] = x == 1 ? y : y == 1 ? x : Math.max(x, y);
    }
    return shape;
  }

  // ---- each element ----

  static Value binary(Ops ops, Binary function, Value a, Value b) {
    Emitter.require(a.type() == b.type(), "its inputs are " + a.type() + " and " + b.type());
    int[] shape = broadcast(a.shape(), b.shape());
    Emitter.require(shape != null, a.text() + " and " + b.text() + " do not broadcast");
    require(!a.type().is8Bit() && shape.length <= MAX_RANK, a.text());
    boolean isWhole = !a.type().isFloat();
    Emitter.require(!isWhole || function != Binary.POW, "NNAPI has no powers of integers");
    if (isWhole && function == Binary.DIV) {
      Value zero = ops.number(a.type(), 0);
      Value size = ops.binary(Binary.FLOOR_DIV, ops.unary(Unary.ABS, a), ops.unary(Unary.ABS, b));
      Value isBelow = ops.binary(Binary.LESS, a, zero);
      Value isNegative = ops.binary(Binary.NOT_EQUAL, isBelow, ops.binary(Binary.LESS, b, zero));
      return ops.select(isNegative, ops.unary(Unary.NEG, size), size);
    }
    boolean isQuestion = function.kind() == Binary.Kind.QUESTION;
    DataType type = isQuestion ? DataType.BOOL : a.type();
    return function.kind() == Binary.Kind.ARITHMETIC
        ? ops.emitSized(
            type, shape, function.operation(), ops.operand(a), ops.operand(b), ops.int32(0))
        : ops.emitSized(type, shape, function.operation(), ops.operand(a), ops.operand(b));
  }

  static Value unary(Ops ops, Unary function, Value value) {
    if (function == Unary.RELU && !value.type().isFloat()) {
      return ops.binary(Binary.MAXIMUM, value, ops.number(value.type(), 0));
    }
    boolean isPlain = isReal(value) || function == Unary.ABS || function == Unary.NEG;
    require(isPlain && !value.type().is8Bit(), value.text());
    return like(ops, value, value.type(), function.operation());
  }

  static Value not(Ops ops, Value value) {
    return like(ops, value, DataType.BOOL, OperationCode.LOGICAL_NOT);
  }

  /** False for each element. */
  private static Value falsehood(Ops ops, Value value) {
    Value any = value.type() == DataType.BOOL ? value : ops.binary(Binary.EQUAL, value, value);
    return ops.binary(Binary.AND, any, ops.number(DataType.BOOL, 0));
  }

  static Value cast(Ops ops, Value value, DataType type) {
    boolean isKept = Emitter.code(value.type()) == Emitter.code(type);
    require(!value.type().is8Bit() && !type.is8Bit(), value.text());
    if (type == DataType.FLOAT16) {
      return ops.halved(ops.cast(value, DataType.FLOAT));
    }
    if (isKept) {
      return Value.ofOpen(type, value.shape(), ops.operand(value));
    }
    if (type == DataType.BOOL) {
      return ops.binary(Binary.NOT_EQUAL, value, ops.number(value.type(), 0));
    }
    return like(
        ops,
        value,
        type,
        value.type() == DataType.BOOL ? ThalamusExtension.CAST : OperationCode.CAST);
  }

  /** The elements repeated to the sizes of others too. */
  private static Value spread(Ops ops, Value value, Value... others) {
    Value result = value;
    for (Value other : others) {
      Value wide = falsehood(ops, other);
      if (!Arrays.equals(result.shape(), wide.shape())) {
        result =
            value.type() == DataType.BOOL
                ? ops.binary(Binary.OR, result, wide)
                : ops.add(result, ops.cast(wide, value.type()));
      }
    }
    return result;
  }

  static Value select(Ops ops, Value condition, Value a, Value b) {
    Emitter.require(a.type() == b.type(), "it chooses between " + a.type() + " and " + b.type());
    Value chosen = spread(ops, condition, a, b);
    Value first = spread(ops, a, condition, b);
    Value second = spread(ops, b, condition, a);
    if (a.type() == DataType.BOOL) {
      return ops.binary(
          Binary.OR,
          ops.binary(Binary.AND, chosen, first),
          ops.binary(Binary.AND, ops.not(chosen), second));
    }
    return ops.emitSized(
        a.type(),
        chosen.shape(),
        OperationCode.SELECT,
        ops.operand(chosen),
        ops.operand(first),
        ops.operand(second));
  }

  // ---- sizes ----

  /** All elements in one row. */
  static Value flat(Ops ops, Value value) {
    if (value.rank() == 1) {
      return value;
    }
    if (isReal(value)) {
      return ops.emitSized(
          value.type(),
          new int[1],
          OperationCode.RESHAPE,
          ops.operand(value),
          ops.int32Vector(REST));
    }
    Value all = ops.not(falsehood(ops, value));
    int[] places = {0, value.rank()};
    return gatherNd(ops, value, found(ops, all, places, false));
  }

  /** The places of what is not 0. */
  static Value found(Ops ops, Value value, int[] shape, boolean isByAxis) {
    return ops.emitSized(
        DataType.INT64, shape, ThalamusExtension.NON_ZERO, ops.operand(value), ops.bool(isByAxis));
  }

  static Value gatherNd(Ops ops, Value value, Value places) {
    int depth = places.dim(places.rank() - 1);
    int[] shape =
        Dims.join(
            Arrays.copyOf(places.shape(), places.rank() - 1),
            Arrays.copyOfRange(value.shape(), depth, value.rank()));
    return ops.emitSized(
        value.type(), shape, ThalamusExtension.GATHER_ND, ops.operand(value), ops.operand(places));
  }

  /** The same elements; of the sizes one at most is unknown, or axes of size 1 come and go. */
  static Value reshape(Ops ops, Value value, int... shape) {
    if (Arrays.equals(value.shape(), shape)) {
      return value;
    }
    int unknown = Dims.zeros(shape);
    if (unknown > 1) {
      return withOnes(ops, value, shape);
    }
    if (isReal(value) && shape.length <= MAX_RANK && shape.length > 0) {
      int[] target = Arrays.stream(shape).map(size -> size == 0 ? REST : size).toArray();
      return ops.emitSized(
          value.type(), shape, OperationCode.RESHAPE, ops.operand(value), ops.int32Vector(target));
    }
    if (value.type() == DataType.BOOL) {
      Value whole = ops.cast(value, DataType.INT32);
      return ops.cast(ops.reshape(whole, shape), DataType.BOOL);
    }
    if (!Arrays.stream(shape).allMatch(size -> size <= 1)) {
      return withOnes(ops, value, shape);
    }
    Value row = ops.flat(value);
    if (shape.length == 0) {
      return Value.of(value.type(), shape, ops.operand(row));
    }
    int place = 0;
    while (place < shape.length - 1 && shape[place] != 0) {
      place++;
    }
    for (int i = 0; i < shape.length; i++) {
      if (i != place) {
        row =
            ops.emitSized(
                row.type(),
                Dims.insert(row.shape(), i, 1),
                OperationCode.EXPAND_DIMS,
                ops.operand(row),
                ops.int32(i));
      }
    }
    return Arrays.equals(row.shape(), shape)
        ? row
        : Value.of(value.type(), shape, ops.operand(row));
  }

  /** The same with axes of size 1 more or less, where no other differ. */
  private static Value withOnes(Ops ops, Value value, int... shape) {
    Value result = value;
    int axis = 0;
    for (int size : shape) {
      while (axis < result.rank() && result.dim(axis) != size && result.dim(axis) == 1) {
        result = squeezed(ops, result, axis);
      }
      if (axis == result.rank() || result.dim(axis) != size) {
        require(size == 1, value.text());
        result = expandDims(ops, result, axis);
      }
      axis++;
    }
    while (axis < result.rank() && result.dim(axis) == 1) {
      result = squeezed(ops, result, axis);
    }
    require(axis == result.rank(), value.text());
    return result;
  }

  private static Value squeezed(Ops ops, Value value, int axis) {
    require(isReal(value), value.text());
    return ops.emitSized(
        value.type(),
        Dims.remove(value.shape(), axis),
        OperationCode.SQUEEZE,
        ops.operand(value),
        ops.int32Vector(axis));
  }

  /** How many elements there are along an axis, as one number. */
  static Value size(Ops ops, Value value, int axis) {
    if (value.dim(axis) > 0 || !value.isOpen()) {
      return ops.number(DataType.INT64, value.dim(axis));
    }
    return sum(ops, ops.cast(line(ops, value, axis), DataType.INT64));
  }

  /** True for each place along an axis. */
  private static Value line(Ops ops, Value value, int axis) {
    Value all = value;
    if (value.rank() > 1) {
      if (value.type() == DataType.BOOL) {
        all = ops.cast(value, DataType.INT32);
      }
      int[] sizes = Dims.along(value.rank(), axis, 0);
      all =
          ops.emitSized(
              all.type(),
              sizes,
              OperationCode.SLICE,
              ops.operand(all),
              ops.int32Vector(new int[value.rank()]),
              ops.int32Vector(Dims.with(sizes, axis, REST)));
    }
    return ops.flat(ops.not(falsehood(ops, all)));
  }

  /** The places along an axis, from 0 on. */
  static Value places(Ops ops, Value value, int axis) {
    int size = value.dim(axis);
    if (size > 0) {
      return ops.range(size);
    }
    Value found = found(ops, line(ops, value, axis), new int[] {1, 0}, true);
    Value row = gatherNd(ops, found, ops.integers(new int[] {1}, 0));
    return ops.cast(row, DataType.INT32);
  }

  /** A row along one of so many axes. */
  static Value along(Ops ops, Value row, int rank, int axis) {
    return ops.reshape(row, Dims.along(rank, axis, row.dim(0)));
  }

  /** The same with an axis of size 1 more. */
  static Value expandDims(Ops ops, Value value, int axis) {
    int[] shape = Dims.insert(value.shape(), axis, 1);
    return value.isOpen()
        ? ops.emitSized(
            value.type(), shape, OperationCode.EXPAND_DIMS, ops.operand(value), ops.int32(axis))
        : ops.reshape(value, shape);
  }

  /** The sum of a row of integers. */
  private static Value sum(Ops ops, Value row) {
    return ops.reshape(sum(ops, Ops.Reduction.SUM, row, new int[] {1}, 0));
  }

  /**
   * Sums of integers along the last axis, or of all, as a product with a column of ones, which is
   * exact.
   */
  static Value sum(Ops ops, Ops.Reduction kind, Value value, int[] kept, int... axes) {
    int last = value.rank() - 1;
    boolean isLast = axes.length == 1 && axes[0] == last && last > 0;
    Emitter.require(
        kind == Ops.Reduction.SUM
            && (isLast || axes.length == value.rank())
            && !value.type().is8Bit(),
        "it reduces " + value.text());
    Value all = isLast ? value : ops.flat(value);
    int size = all.dim(all.rank() - 1);
    Value ones =
        size > 0
            ? ops.fill(value.type(), new int[] {size}, 1)
            : ops.cast(line(ops, all, all.rank() - 1), value.type());
    Value rows = isLast ? value : along(ops, all, 2, 1);
    return ops.reshape(ops.multiply(rows, along(ops, ones, 2, 0), false), kept);
  }

  /** The elements along an axis made one, without the axis. */
  static Value reduce(Ops ops, OperationCode operation, Value value, int axis) {
    return ops.emitSized(
        value.type(),
        Dims.remove(value.shape(), axis),
        operation,
        ops.operand(value),
        ops.int32Vector(axis),
        ops.bool(false));
  }

  // ---- places ----

  static Value transpose(Ops ops, Value value, int... order) {
    int[] shape = Dims.permute(value.shape(), order);
    if (Arrays.equals(order, Dims.range(value.rank()))) {
      return value;
    }
    if (isReal(value)) {
      return ops.emitSized(
          value.type(), shape, OperationCode.TRANSPOSE, ops.operand(value), ops.int32Vector(order));
    }
    if (value.turned() != null) {
      return value.turned();
    }
    int known = value.rank() == 2 && value.dim(0) > 0 ? 0 : 1;
    require(value.rank() == 2 && value.dim(known) > 0, value.text());
    List<Value> lines = new ArrayList<>();
    for (int i = 0; i < value.dim(known); i++) {
      Value line = ops.gather(value, known, ops.integers(new int[] {1}, i));
      int[] turned = known == 0 ? new int[] {0, 1} : new int[] {1, 0};
      lines.add(ops.reshape(ops.flat(line), turned));
    }
    return ops.concat(lines, 1 - known);
  }

  /** The elements along an axis in reverse order. */
  static Value reverse(Ops ops, Value value, int axis) {
    return ops.emitSized(
        value.type(),
        value.shape(),
        ThalamusExtension.REVERSE,
        ops.operand(value),
        ops.int32Vector(axis));
  }

  static Value gather(Ops ops, Value value, int axis, Value places) {
    if (value.type() == DataType.BOOL) {
      Value whole = ops.cast(value, DataType.INT32);
      return ops.cast(ops.gather(whole, axis, places), DataType.BOOL);
    }
    int[] before = Arrays.copyOf(value.shape(), axis);
    int[] after = Arrays.copyOfRange(value.shape(), axis + 1, value.rank());
    int[] found = places.rank() == 0 ? new int[] {1} : places.shape();
    Value result =
        ops.emitSized(
            value.type(),
            Dims.join(before, found, after),
            OperationCode.GATHER,
            ops.operand(value),
            ops.int32(axis),
            ops.operand(places));
    return ops.reshape(result, Dims.join(before, places.shape(), after));
  }

  static Value concat(Ops ops, List<Value> values, int axis) {
    List<Value> parts = values.stream().filter(each -> each.isOpen() || each.count() > 0).toList();
    int[] shape = parts.getFirst().shape().clone();
    List<Integer> inputs = new ArrayList<>();
    for (Value part : parts) {
      Emitter.require(
          part.rank() == shape.length && part.type() == parts.getFirst().type(),
          parts.getFirst().text() + " and " + part.text() + " differ");
      for (int i = 0; i < shape.length; i++) {
        int size = part.dim(i);
        if (i == axis) {
          boolean isFirst = inputs.isEmpty();
          shape[i] = isFirst ? size : shape[i] == 0 || size == 0 ? 0 : shape[i] + size;
        } else {
          shape[i] = Math.max(shape[i], size);
        }
      }
      inputs.add(ops.operand(part));
    }
    inputs.add(ops.int32(axis));
    return ops.emitSized(
        parts.getFirst().type(),
        shape,
        ThalamusExtension.CONCATENATION,
        inputs.toArray(Integer[]::new));
  }

  /**
   * So many neighbours along an axis.
   *
   * @param length how many, as one number; null for all behind the first
   */
  static Value part(Ops ops, Value value, int axis, int start, Value length) {
    return part(ops, value, axis, ops.number(DataType.INT64, start), length);
  }

  /** The same from a place on that may be computed. */
  static Value part(Ops ops, Value value, int axis, Value start, Value length) {
    if (value.type() == DataType.BOOL) {
      Value whole = ops.cast(value, DataType.INT32);
      return ops.cast(part(ops, whole, axis, start, length), DataType.BOOL);
    }
    int starts =
        start.isConstant()
            ? ops.int32Vector(
                Dims.with(new int[value.rank()], axis, (int) start.constant().integer(0)))
            : vector(ops, start, axis, value.rank(), 0);
    boolean isKnown = length != null && length.isConstant();
    int size = isKnown ? (int) length.constant().integer(0) : 0;
    int[] shape = Dims.with(value.shape(), axis, size);
    int[] rest = new int[value.rank()];
    Arrays.fill(rest, REST);
    int sizes = ops.int32Vector(Dims.with(rest, axis, isKnown ? size : REST));
    if (length != null && !isKnown) {
      sizes = vector(ops, length, axis, value.rank(), REST);
    }
    return ops.emitSized(
        value.type(), shape, OperationCode.SLICE, ops.operand(value), starts, sizes);
  }

  /** The operand of a number for each axis, of which one is computed. */
  private static int vector(Ops ops, Value number, int axis, int rank, int others) {
    List<Value> numbers = new ArrayList<>();
    for (int i = 0; i < rank; i++) {
      Value each = i == axis ? number : ops.number(DataType.INT32, others);
      numbers.add(ops.reshape(ops.cast(each, DataType.INT32), 1));
    }
    return ops.operand(ops.concat(numbers, 0));
  }

  /** A tensor of sizes that are computed, with a number everywhere. */
  static Value fill(Ops ops, DataType type, int[] shape, Value sizes, double number) {
    if (type == DataType.BOOL) {
      return ops.cast(fill(ops, DataType.INT32, shape, sizes, number), type);
    }
    Emitter.require(!type.is8Bit(), "it fills " + type + " to a size that is computed");
    return ops.emitSized(
        type,
        shape,
        OperationCode.FILL,
        ops.operand(ops.cast(sizes, DataType.INT32)),
        type.isFloat() ? ops.real(number) : ops.int32((int) number));
  }

  /** The same in another operand. */
  static Value copy(Ops ops, Value value) {
    return ops.emitSized(
        value.type(),
        value.shape(),
        ThalamusExtension.CONCATENATION,
        ops.operand(value),
        ops.int32(0));
  }

  /** A tensor without elements, which operations write: its sizes of 0 are left open. */
  static Value empty(Ops ops, DataType type, int... shape) {
    boolean isBool = type == DataType.BOOL;
    Emitter.require(
        !isBool || shape.length <= MAX_RANK,
        "a result of BOOL without elements has " + shape.length + " dimensions");
    Value nothing = ops.constant(DataType.BOOL, new int[] {1}, 0);
    Value places = ops.flat(found(ops, nothing, new int[] {0, 1}, false));
    int[] one = Arrays.stream(shape).map(size -> Math.max(size, 1)).toArray();
    Value value = ops.fill(isBool ? DataType.INT32 : type, one, 0);
    for (int axis = 0; axis < shape.length; axis++) {
      value = shape[axis] == 0 ? ops.gather(value, axis, places) : value;
    }
    return ops.cast(value, type);
  }
}
