// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;

/** Arithmetic, comparisons, logic and functions of each element, with broadcasting. */
final class Elementwise {
  /** The operators that are functions of two values. */
  private static final Map<String, Binary> PAIRS =
      Map.ofEntries(
          Map.entry("Add", Binary.ADD),
          Map.entry("Sub", Binary.SUB),
          Map.entry("Mul", Binary.MUL),
          Map.entry("Div", Binary.DIV),
          Map.entry("Equal", Binary.EQUAL),
          Map.entry("Less", Binary.LESS),
          Map.entry("LessOrEqual", Binary.LESS_EQUAL),
          Map.entry("Greater", Binary.GREATER),
          Map.entry("GreaterOrEqual", Binary.GREATER_EQUAL),
          Map.entry("And", Binary.AND),
          Map.entry("Or", Binary.OR),
          Map.entry("Xor", Binary.NOT_EQUAL));

  /** The operators that are functions of one value. */
  private static final Map<String, Unary> SINGLES =
      Map.of(
          "Abs", Unary.ABS,
          "Neg", Unary.NEG,
          "Exp", Unary.EXP,
          "Log", Unary.LOG,
          "Sqrt", Unary.SQRT,
          "Sin", Unary.SIN,
          "Floor", Unary.FLOOR,
          "Erf", Unary.ERF);

  private static final int MAX_POWER = 64;

  private Elementwise() {}

  static void addTo(Converters table) {
    PAIRS.forEach((name, function) -> table.add(name, pair(function)));
    table.add("Max", all(Binary.MAXIMUM));
    table.add("Min", all(Binary.MINIMUM));
    table.add("Sum", all(Binary.ADD));
    table.add("Mean", Elementwise::mean);
    table.add("Mod", Elementwise::mod);
    table.add("Pow", Elementwise::pow);
    SINGLES.forEach((name, function) -> table.add(name, single(function)));
    table.add("Ceil", node -> node.out(node.ops().ceil(node.openIn(0))));
    table.add("Round", node -> node.out(node.ops().round(node.in(0))));
    table.add("Reciprocal", node -> node.out(node.ops().reciprocal(node.openIn(0))));
    table.add("Not", node -> node.out(node.ops().not(node.openIn(0))));
    table.add("Sign", Elementwise::sign);
    table.add(
        "IsNaN", node -> node.out(node.ops().binary(Binary.NOT_EQUAL, node.in(0), node.in(0))));
    table.add("IsInf", Elementwise::isInfinite);
    table.add(
        "Where",
        node -> node.out(node.ops().select(node.openIn(0), node.openIn(1), node.openIn(2))));
    table.add("Identity", node -> node.out(node.openIn(0)));
    table.add("Dropout", Elementwise::dropout);
    table.add("Clip", Elementwise::clip);
    table.add("Cast", Elementwise::cast);
    table.add("BitCast", Elementwise::bitcast);
    table.add("CastLike", node -> node.out(node.ops().cast(node.openIn(0), node.openIn(1).type())));
  }

  private static Consumer<Node> pair(Binary function) {
    return node -> node.out(node.ops().binary(function, node.openIn(0), second(node)));
  }

  /** The second input; before version 7 it is broadcast along an axis that is named. */
  private static Value second(Node node) {
    Value second = node.openIn(1);
    if (!node.hasSetting("axis") || node.opset() >= 7) {
      return second;
    }
    int rank = node.openIn(0).rank();
    int axis = node.axis(node.setting("axis", 0), rank);
    int[] shape = Arrays.copyOf(second.shape(), rank - axis);
    Arrays.fill(shape, Math.min(second.rank(), shape.length), shape.length, 1);
    return node.ops().reshape(second, shape);
  }

  private static Consumer<Node> single(Unary function) {
    return node -> node.out(node.ops().unary(function, node.openIn(0)));
  }

  private static Consumer<Node> all(Binary function) {
    return node -> node.out(joined(node, function));
  }

  private static Value joined(Node node, Binary function) {
    Value result = node.openIn(0);
    for (int i = 1; i < node.inputs(); i++) {
      result = node.ops().binary(function, result, node.openIn(i));
    }
    return result;
  }

  private static void mean(Node node) {
    Value sum = joined(node, Binary.ADD);
    node.out(node.ops().mul(sum, 1.0 / node.inputs()));
  }

  private static void mod(Node node) {
    node.out(node.ops().remainder(node.openIn(0), node.openIn(1), node.flag("fmod", false)));
  }

  private static void pow(Node node) {
    Ops ops = node.ops();
    Value base = node.openIn(0);
    Value exponent = second(node);
    boolean isNumber = exponent.isConstant() && exponent.count() == 1;
    if (isNumber && !base.isConstant() && !base.isOpen()) {
      double power = exponent.constant().number(0);
      boolean isWhole = power == Math.rint(power) && power >= 1 && power <= MAX_POWER;
      boolean isSmall = base.type().isFloat() ? power <= 3 : true;
      if (isWhole && isSmall) {
        Value result = base;
        for (int i = 1; i < power; i++) {
          result = ops.mul(result, base);
        }
        int[] shape = Dims.broadcast(base.shape(), exponent.shape());
        node.out(ops.expand(result, shape));
        return;
      }
    }
    if (base.type().isFloat()) {
      node.out(ops.binary(Binary.POW, base, ops.cast(exponent, base.type())));
      return;
    }
    if (!exponent.type().isFloat() && !(base.isConstant() && exponent.isConstant())) {
      node.out(wholePower(ops, base, ops.cast(exponent, base.type())));
      return;
    }
    Value real = ops.cast(base, exponent.type());
    node.out(ops.cast(ops.binary(Binary.POW, real, exponent), base.type()));
  }

  /**
   * The product of those of {@code base, base^2, base^4...} whose bit the exponent has. A negative
   * exponent gives 1.
   */
  private static Value wholePower(Ops ops, Value base, Value exponent) {
    Value one = ops.number(base.type(), 1);
    Value two = ops.number(base.type(), 2);
    Value left = ops.max(exponent, 0);
    Value square = base;
    Value result = one;
    for (int bit = 1; bit < MAX_POWER; bit *= 2) {
      Value half = ops.binary(Binary.FLOOR_DIV, left, two);
      Value isSet = ops.binary(Binary.NOT_EQUAL, left, ops.mul(half, 2));
      result = ops.mul(result, ops.select(isSet, square, one));
      square = ops.square(square);
      left = half;
    }
    return result;
  }

  private static void isInfinite(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value most = ops.number(value.type(), Float.MAX_VALUE);
    Value least = ops.number(value.type(), -Float.MAX_VALUE);
    Value isAbove = ops.binary(Binary.GREATER, value, most);
    Value isBelow = ops.binary(Binary.LESS, value, least);
    boolean isWanted = node.flag("detect_positive", true);
    if (!node.flag("detect_negative", true)) {
      node.out(isWanted ? isAbove : ops.fill(DataType.BOOL, value.shape(), 0));
    } else {
      node.out(isWanted ? ops.binary(Binary.OR, isAbove, isBelow) : isBelow);
    }
  }

  /** What is no number keeps being none. */
  private static void sign(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value zero = ops.number(value.type(), 0);
    Value isPositive = ops.cast(ops.binary(Binary.GREATER, value, zero), DataType.INT32);
    Value isNegative = ops.cast(ops.binary(Binary.LESS, value, zero), DataType.INT32);
    Value sign = ops.cast(ops.sub(isPositive, isNegative), value.type());
    boolean isReal = value.type().isFloat();
    node.out(isReal ? ops.select(ops.binary(Binary.EQUAL, value, value), sign, value) : sign);
  }

  /** Passes its input on, as it does when a network is executed. */
  private static void dropout(Node node) {
    boolean isTraining = node.has(2) && !(node.isKnown(2) && node.known(2).integer(0) == 0);
    node.require(
        !isTraining || node.isKnown(1) && node.onlyNumber(1) == 0,
        "it may drop elements at random, as in training");
    node.out(node.in(0));
    // Old ones name what they dropped, new ones what they kept, as ONNX Runtime has it.
    node.out(1, node.ops().fill(DataType.BOOL, node.in(0).shape(), node.opset() < 12 ? 0 : 1));
  }

  private static void clip(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value least = limit(node, value, 1, "min");
    Value most = limit(node, value, 2, "max");
    if (value.type().isFloat() && isNumber(least, 0) && isNumber(most, 6)) {
      node.out(ops.unary(Unary.RELU6, value));
      return;
    }
    Value raised = least == null ? value : ops.binary(Binary.MAXIMUM, value, least);
    node.out(most == null ? raised : ops.binary(Binary.MINIMUM, raised, most));
  }

  /** A bound, which was a setting once; null where there is none. */
  private static Value limit(Node node, Value value, int input, String setting) {
    if (node.opset() >= 11) {
      return node.inOrNull(input);
    }
    return node.hasSetting(setting) ? node.ops().number(value.type(), node.real(setting, 0)) : null;
  }

  private static boolean isNumber(Value value, double number) {
    return value != null
        && value.isConstant()
        && value.count() == 1
        && value.constant().number(0) == number;
  }

  private static void cast(Node node) {
    node.require(node.hasSetting("to"), "it does not say to what");
    DataType type = node.type("to", DataType.FLOAT);
    node.out(node.ops().cast(node.openIn(0), type));
  }

  /**
   * The bits of integers and of reals of 32 bits; integers of 8 and of 16 keep theirs in a cast.
   */
  private static void bitcast(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    DataType from = value.type();
    DataType to = node.type("to", from);
    boolean isReal = from == DataType.FLOAT || to == DataType.FLOAT;
    boolean isKnown =
        from.elements().size() == to.elements().size()
            && (isReal ? true : !from.isFloat() && !to.isFloat())
            && from != DataType.BOOL
            && to != DataType.BOOL;
    node.require(isKnown, "it casts bits of " + from + " to " + to);
    if (!isReal || from == to) {
      node.out(from.elements().size() == Long.BYTES ? value : ops.cast(value, to));
      return;
    }
    DataType other = to == DataType.FLOAT ? to : DataType.INT32;
    Value whole = from == DataType.FLOAT ? value : ops.cast(value, DataType.INT32);
    Value bits = ops.emit(other, ThalamusExtension.BITCAST, ops.operand(whole));
    node.out(ops.cast(bits.as(value.shape()), to));
  }
}
