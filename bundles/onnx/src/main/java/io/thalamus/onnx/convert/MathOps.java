// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.WideTypes;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Functions of each element, of any type and any number of dimensions. */
class MathOps extends MoveOps {
  private static final int MAX_RANK = 4;
  private static final int BYTE_VALUES = 256;
  private static final Optional<OperandType> WIDE = Optional.of(WideTypes.TENSOR_INT64);

  /** The least float from which on all are whole. */
  private static final double FIRST_WHOLE = 0x1p23;

  /** The middle of those that are whole and next to each other. */
  private static final double TO_WHOLE = 0x1.8p23;

  MathOps(DataFiles files, OperationCatalog catalog, Budget budget) {
    super(files, catalog, budget);
  }

  // ---- two values ----

  Value add(Value a, Value b) {
    return binary(Binary.ADD, a, b);
  }

  Value add(Value a, double b) {
    return b == 0 ? a : add(a, number(a.type(), b));
  }

  Value sub(Value a, Value b) {
    return binary(Binary.SUB, a, b);
  }

  /**
   * Differences of small integers in another type, in which they are whole. Known ones take the
   * memory of the result alone, which is that of most weights of an 8-bit file.
   */
  Value difference(Value a, Value b, DataType type) {
    int[] shape = Dims.broadcast(a.shape(), b.shape());
    return a.isConstant() && b.isConstant() && shape != null
        ? combined(Binary.SUB, a, b, type, shape)
        : sub(cast(a, type), cast(b, type));
  }

  private Value combined(Binary function, Value a, Value b, DataType type, int[] shape) {
    return Value.of(
        Tensor.combine(
            a.constant(),
            b.constant(),
            type,
            shape,
            function.reals(),
            function.integers(),
            budget()));
  }

  Value mul(Value a, Value b) {
    return binary(Binary.MUL, a, b);
  }

  Value mul(Value a, double b) {
    return b == 1 ? a : mul(a, number(a.type(), b));
  }

  Value div(Value a, Value b) {
    return binary(Binary.DIV, a, b);
  }

  Value max(Value a, double b) {
    return binary(Binary.MAXIMUM, a, number(a.type(), b));
  }

  Value min(Value a, double b) {
    return binary(Binary.MINIMUM, a, number(a.type(), b));
  }

  Value binary(Binary function, Value a, Value b) {
    require(a.type() == b.type(), "its inputs are " + a.type() + " and " + b.type());
    int[] shape = Dims.broadcast(a.shape(), b.shape());
    require(shape != null, a.text() + " and " + b.text() + " do not broadcast");
    boolean isQuestion = function.kind() == Binary.Kind.QUESTION;
    DataType type = isQuestion ? DataType.BOOL : a.type();
    if (a.isConstant() && b.isConstant()) {
      return combined(function, a, b, type, shape);
    }
    boolean isNumber =
        function.kind() == Binary.Kind.ARITHMETIC || function.kind() == Binary.Kind.VALUE;
    if (a.type() == DataType.UINT32 && Unsigned.isOwn(function)) {
      return Unsigned.binary(this, function, a, b);
    }
    if (function.kind() == Binary.Kind.ARITHMETIC && a.type().is16Bit()) {
      return cast(binary(function, cast(a, DataType.INT32), cast(b, DataType.INT32)), a.type());
    }
    if (isNumber && a.type().is8Bit()) {
      return wrap(binary(function, cast(a, DataType.INT32), cast(b, DataType.INT32)), a.type());
    }
    if (!a.type().isFloat()) {
      require(function != Binary.POW, "NNAPI has no powers of integers");
      if (function == Binary.DIV) {
        return quotient(a, b);
      }
    }
    return emitBinary(function, a, b, shape, type).as(shape);
  }

  private Value emitBinary(Binary function, Value a, Value b, int[] shape, DataType type) {
    if (function.kind() != Binary.Kind.ARITHMETIC) {
      return emit(type, function.operation(), operand(a), operand(b));
    }
    if (shape.length <= MAX_RANK) {
      return emit(type, function.operation(), operand(a), operand(b), int32(0));
    }
    int[] joined = joinedSizes(a.shape(), b.shape(), shape);
    if (joined == null) {
      Value x = flat(expand(a, shape));
      Value y = flat(expand(b, shape));
      return reshape(emit(type, function.operation(), operand(x), operand(y), int32(0)), shape);
    }
    Value x = reshape(a, joinedShape(a.shape(), shape, joined));
    Value y = reshape(b, joinedShape(b.shape(), shape, joined));
    return reshape(emit(type, function.operation(), operand(x), operand(y), int32(0)), shape);
  }

  /**
   * Returns the sizes after neighbours that are broadcast in the same way are joined; null where
   * more than four are left.
   */
  private static int[] joinedSizes(int[] a, int[] b, int[] shape) {
    List<Integer> sizes = new ArrayList<>();
    int last = -1;
    for (int i = 0; i < shape.length; i++) {
      int kind = kind(a, shape, i) * 2 + kind(b, shape, i);
      if (kind == last || shape[i] == 1 && last >= 0) {
        sizes.set(sizes.size() - 1, sizes.getLast() + 1);
      } else {
        sizes.add(1);
        last = shape[i] == 1 && i == 0 ? -1 : kind;
      }
    }
    return sizes.size() > MAX_RANK ? null : sizes.stream().mapToInt(size -> size).toArray();
  }

  private static int kind(int[] operand, int[] shape, int axis) {
    int own = axis - shape.length + operand.length;
    return own >= 0 && operand[own] == shape[axis] ? 1 : 0;
  }

  private static int[] joinedShape(int[] operand, int[] shape, int[] joined) {
    int[] full = Dims.join(Dims.ones(shape.length - operand.length), operand);
    int[] result = new int[joined.length];
    int next = 0;
    for (int i = 0; i < joined.length; i++) {
      result[i] = Dims.count(full, next, next + joined[i]);
      next += joined[i];
    }
    return result;
  }

  /** The quotient of integers towards zero; NNAPI's goes downwards. */
  private Value quotient(Value a, Value b) {
    Value size = binary(Binary.FLOOR_DIV, unary(Unary.ABS, a), unary(Unary.ABS, b));
    Value isNegative =
        binary(
            Binary.NOT_EQUAL,
            binary(Binary.LESS, a, number(a.type(), 0)),
            binary(Binary.LESS, b, number(b.type(), 0)));
    return select(isNegative, unary(Unary.NEG, size), size);
  }

  /** The remainder; with the sign of the divisor, or with that of the dividend. */
  Value remainder(Value a, Value b, boolean isLikeDividend) {
    if (a.type().is8Bit()) {
      return wrap(
          remainder(cast(a, DataType.INT32), cast(b, DataType.INT32), isLikeDividend), a.type());
    }
    Value whole;
    if (!isLikeDividend) {
      whole = binary(Binary.FLOOR_DIV, a, b);
    } else if (a.type().isFloat()) {
      whole = truncate(div(a, b));
    } else {
      whole = div(a, b);
    }
    return sub(a, mul(whole, b));
  }

  /** 8-bit integers of larger ones, of which the low bits are kept. */
  private Value wrap(Value value, DataType type) {
    int shift = type.isSigned8Bit() ? BYTE_VALUES / 2 : 0;
    Value shifted = add(value, shift);
    Value size = number(value.type(), BYTE_VALUES);
    Value low = sub(shifted, mul(binary(Binary.FLOOR_DIV, shifted, size), size));
    return narrow(add(low, -shift), type);
  }

  /** 8-bit integers of larger ones that fit. */
  private Value narrow(Value value, DataType type) {
    if (type == DataType.UINT8) {
      return emit(type, OperationCode.CAST, operand(value)).as(value.shape());
    }
    Value real = value.type().isFloat() ? value : cast(value, DataType.FLOAT);
    return emit(type, ThalamusExtension.QUANTIZE, operand(real)).as(value.shape());
  }

  // ---- one value ----

  Value unary(Unary function, Value value) {
    if (value.isConstant() && function.function() != null) {
      return Value.of(
          value
              .constant()
              .map(
                  value.type(),
                  function.function(),
                  x -> (long) function.function().applyAsDouble(x),
                  budget()));
    }
    if (function == Unary.ABS && value.type() == DataType.UINT32) {
      return value;
    }
    if (value.type().is8Bit()) {
      return wrap(unary(function, cast(value, DataType.INT32)), value.type());
    }
    if (!value.type().isFloat()) {
      switch (function) {
        case RELU -> {
          return max(value, 0);
        }
        case FLOOR -> {
          return value;
        }
        case ABS, NEG -> {}
        default -> throw refuse("NNAPI has no " + function + " of integers");
      }
    }
    return eachElement(value, flat -> emit(flat.type(), function.operation(), operand(flat)));
  }

  /** An operation on each element that takes at most four dimensions. */
  Value eachElement(Value value, UnaryOperator<Value> step) {
    return value.rank() <= MAX_RANK
        ? step.apply(value).as(value.shape())
        : reshape(step.apply(flat(value)), value.shape());
  }

  Value not(Value value) {
    return value.isConstant()
        ? binary(Binary.EQUAL, value, number(DataType.BOOL, 0))
        : emit(DataType.BOOL, OperationCode.LOGICAL_NOT, operand(value)).as(value.shape());
  }

  Value reciprocal(Value value) {
    return div(number(value.type(), 1), value);
  }

  Value square(Value value) {
    return mul(value, value);
  }

  Value ceil(Value value) {
    return unary(Unary.NEG, unary(Unary.FLOOR, unary(Unary.NEG, value)));
  }

  /** The nearest integer towards zero. */
  Value truncate(Value value) {
    return select(
        binary(Binary.LESS, value, number(value.type(), 0)),
        ceil(value),
        unary(Unary.FLOOR, value));
  }

  /** The nearest integer; of two, the even one. */
  Value round(Value value) {
    if (value.isConstant()) {
      return Value.of(value.constant().map(value.type(), Math::rint, x -> x, budget()));
    }
    return inSingle(
        value,
        real -> {
          Value size = unary(Unary.ABS, real);
          Value whole = add(add(size, FIRST_WHOLE), -FIRST_WHOLE);
          Value isNegative = binary(Binary.LESS, real, number(DataType.FLOAT, 0));
          Value signed = select(isNegative, unary(Unary.NEG, whole), whole);
          Value isSmall = binary(Binary.LESS, size, number(DataType.FLOAT, FIRST_WHOLE));
          return select(isSmall, signed, real);
        });
  }

  /**
   * The same of numbers less than {@code 2^22}: floats near {@code 1.5 * 2^23} have no bits for
   * fractions, so that the addition rounds.
   */
  Value roundSmall(Value value) {
    return inSingle(value, real -> add(add(real, TO_WHOLE), -TO_WHOLE));
  }

  /** A step on reals as FLOAT, which all of them are computed in: FLOAT16 lacks some constants. */
  Value inSingle(Value value, UnaryOperator<Value> step) {
    Value result = step.apply(cast(value, DataType.FLOAT));
    return result.isConstant()
        ? cast(result, value.type())
        : value(value.type(), result.shape(), operand(result));
  }

  /** Floats that are whole numbers of a type, as such. */
  Value whole(Value value, DataType type) {
    return value.isConstant() || !value.type().isFloat()
        ? cast(value, type)
        : Value.ofReal(type, value, () -> cast(value, type));
  }

  /** The first value where a condition holds, else the second, with broadcasting. */
  Value select(Value condition, Value a, Value b) {
    require(a.type() == b.type(), "it chooses between " + a.type() + " and " + b.type());
    int[] values = Dims.broadcast(a.shape(), b.shape());
    int[] shape = values == null ? null : Dims.broadcast(condition.shape(), values);
    require(shape != null, a.text() + " and " + b.text() + " do not broadcast");
    Value chosen = expand(condition, shape);
    Value first = expand(a, shape);
    Value second = expand(b, shape);
    if (chosen.isConstant() && first.isConstant() && second.isConstant()) {
      double[] result = budget().doubles(chosen.count());
      for (int i = 0; i < result.length; i++) {
        Value from = chosen.constant().integer(i) != 0 ? first : second;
        result[i] = from.constant().number(i);
      }
      Value constant = constant(a.type(), shape, result);
      budget().release((long) Double.BYTES * result.length);
      return constant;
    }
    if (a.type() == DataType.BOOL) {
      return binary(
          Binary.OR, binary(Binary.AND, chosen, first), binary(Binary.AND, not(chosen), second));
    }
    return emit(a.type(), OperationCode.SELECT, operand(chosen), operand(first), operand(second))
        .as(shape);
  }

  /** The elements in another type. */
  Value cast(Value value, DataType type) {
    if (value.type() == type) {
      return value;
    }
    if (value.isConstant()) {
      return Value.of(value.constant().cast(type, budget()));
    }
    if (value.real() != null && type.isFloat()) {
      return cast(value.real(), type);
    }
    if (value.type() == DataType.BOOL) {
      return select(value, number(type, 1), number(type, 0));
    }
    if (value.type().isSigned8Bit()) {
      Value real =
          eachElement(value, flat -> emit(DataType.FLOAT, OperationCode.DEQUANTIZE, operand(flat)));
      return cast(real, type);
    }
    if (value.type() == DataType.UINT32 && (type.isFloat() || type.argument().equals(WIDE))) {
      return Unsigned.cast(this, value, type);
    }
    if (type == DataType.UINT32 && value.type().isFloat()) {
      return Unsigned.ofReal(this, cast(value, DataType.FLOAT));
    }
    if (type.is16Bit() && !value.type().isFloat() && !value.type().is8Bit()) {
      int small = convert(operand(value), type.argument().orElseThrow());
      return Value.of(type, value.shape(), convert(small, OperandCode.TENSOR_INT32));
    }
    if (type == DataType.FLOAT16) {
      int half = convert(operand(cast(value, DataType.FLOAT)), OperandCode.TENSOR_FLOAT16);
      return Value.of(type, value.shape(), convert(half, OperandCode.TENSOR_FLOAT32));
    }
    if (code(value.type()) == code(type)) {
      return Value.of(type, value.shape(), operand(value));
    }
    if (type == DataType.BOOL) {
      return binary(Binary.NOT_EQUAL, value, number(value.type(), 0));
    }
    if (type.is8Bit()) {
      Value whole = value.type().isFloat() ? cast(value, DataType.INT32) : value;
      return wrap(cast(whole, DataType.INT32), type);
    }
    return emit(type, OperationCode.CAST, operand(value)).as(value.shape());
  }
}
