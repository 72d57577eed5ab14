// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

/** Trigonometric and hyperbolic functions that NNAPI lacks, and their inverses. */
final class Angles {
  /** The tangent of an eighth of a half circle, above which an angle is counted from a quarter. */
  private static final double TAN_EIGHTH = 0.4142135623730950;

  /** Of the inverse tangent, by the square of its argument: Cephes' {@code atanf}. */
  private static final double[] INVERSE_TANGENT = {
    8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1
  };

  private Angles() {}

  static void addTo(Converters table) {
    table.add("Cos", node -> node.out(cos(node.ops(), node.openIn(0))));
    table.add("Tan", Angles::tan);
    table.add("Atan", node -> node.out(atan(node.ops(), node.openIn(0))));
    table.add("Asin", Angles::asin);
    table.add("Acos", Angles::acos);
    table.add("Sinh", node -> node.out(hyperbolic(node, false)));
    table.add("Cosh", node -> node.out(hyperbolic(node, true)));
    table.add("Asinh", Angles::asinh);
    table.add("Acosh", Angles::acosh);
    table.add("Atanh", Angles::atanh);
  }

  /** The cosine, as a sine further on. */
  static Value cos(Ops ops, Value value) {
    return ops.inSingle(value, real -> ops.unary(Unary.SIN, ops.add(real, Math.PI / 2)));
  }

  private static void tan(Node node) {
    Ops ops = node.ops();
    node.out(ops.div(ops.unary(Unary.SIN, node.openIn(0)), cos(ops, node.openIn(0))));
  }

  private static Value one(Ops ops, Value like) {
    return ops.number(like.type(), 1);
  }

  private static Value withSign(Ops ops, Value size, Value of) {
    Value isNegative = ops.binary(Binary.LESS, of, ops.number(of.type(), 0));
    return ops.select(isNegative, ops.unary(Unary.NEG, size), size);
  }

  private static Value atan(Ops ops, Value value) {
    Value size = ops.unary(Unary.ABS, value);
    Value one = one(ops, value);
    Value isSteep = ops.binary(Binary.GREATER, size, one);
    Value flat = ops.select(isSteep, ops.reciprocal(size), size);
    Value isLarge = ops.binary(Binary.GREATER, flat, ops.number(value.type(), TAN_EIGHTH));
    Value less = ops.div(ops.add(flat, -1), ops.add(flat, 1));
    Value x = ops.select(isLarge, less, flat);
    Value square = ops.square(x);
    Value sum = ops.number(value.type(), INVERSE_TANGENT[0]);
    for (int i = 1; i < INVERSE_TANGENT.length; i++) {
      sum = ops.add(ops.mul(sum, square), INVERSE_TANGENT[i]);
    }
    Value angle = ops.add(ops.mul(ops.mul(sum, square), x), x);
    angle = ops.select(isLarge, ops.add(angle, Math.PI / 4), angle);
    Value rest = ops.sub(ops.number(value.type(), Math.PI / 2), angle);
    return withSign(ops, ops.select(isSteep, rest, angle), value);
  }

  /** {@code atan(x / sqrt((1 - x) * (1 + x)))}. */
  private static void asin(Node node) {
    Ops ops = node.ops();
    Value x = node.openIn(0);
    Value one = one(ops, x);
    Value root = ops.unary(Unary.SQRT, ops.mul(ops.sub(one, x), ops.add(x, one)));
    node.out(atan(ops, ops.div(x, root)));
  }

  /** {@code 2 * atan(sqrt((1 - x) / (1 + x)))}, which is exact near 1 too. */
  private static void acos(Node node) {
    Ops ops = node.ops();
    Value x = node.openIn(0);
    Value one = one(ops, x);
    Value root = ops.unary(Unary.SQRT, ops.div(ops.sub(one, x), ops.add(x, one)));
    node.out(ops.mul(atan(ops, root), 2));
  }

  /** The half sum or half difference of two exponentials, with a series near 0. */
  private static Value hyperbolic(Node node, boolean isSum) {
    Ops ops = node.ops();
    Value x = node.openIn(0);
    Value up = ops.unary(Unary.EXP, x);
    Value down = ops.unary(Unary.EXP, ops.unary(Unary.NEG, x));
    if (isSum) {
      return ops.mul(ops.add(up, down), 0.5);
    }
    Value square = ops.square(x);
    Value series = one(ops, x);
    for (int i = 9; i > 1; i -= 2) {
      series = ops.add(ops.mul(ops.mul(series, square), 1.0 / (i * (i - 1))), 1);
    }
    Value isSmall = ops.binary(Binary.LESS, ops.unary(Unary.ABS, x), one(ops, x));
    return ops.select(isSmall, ops.mul(series, x), ops.mul(ops.sub(up, down), 0.5));
  }

  /** {@code log(|x| + sqrt(x * x + 1))}; near 0 as {@code atanh(x / sqrt(x * x + 1))}. */
  private static void asinh(Node node) {
    Ops ops = node.ops();
    Value x = node.openIn(0);
    Value size = ops.unary(Unary.ABS, x);
    Value root = ops.unary(Unary.SQRT, ops.add(ops.square(x), 1));
    Value large = ops.unary(Unary.LOG, ops.add(size, root));
    Value isSmall = ops.binary(Binary.LESS, size, ops.number(x.type(), 0.5));
    Value small = atanh(ops, ops.div(size, root));
    node.out(withSign(ops, ops.select(isSmall, small, large), x));
  }

  private static void acosh(Node node) {
    Ops ops = node.ops();
    Value x = node.openIn(0);
    Value root = ops.unary(Unary.SQRT, ops.mul(ops.add(x, -1), ops.add(x, 1)));
    node.out(ops.unary(Unary.LOG, ops.add(x, root)));
  }

  private static void atanh(Node node) {
    node.out(atanh(node.ops(), node.openIn(0)));
  }

  /** {@code log((1 + x) / (1 - x)) / 2}; near 0 by its series. */
  private static Value atanh(Ops ops, Value x) {
    Value one = one(ops, x);
    Value quotient = ops.div(ops.add(x, one), ops.sub(one, x));
    Value large = ops.mul(ops.unary(Unary.LOG, quotient), 0.5);
    Value square = ops.square(x);
    Value series = ops.number(x.type(), 1.0 / 15);
    for (int i = 13; i > 1; i -= 2) {
      series = ops.add(ops.mul(series, square), 1.0 / i);
    }
    Value small = ops.add(ops.mul(ops.mul(series, square), x), x);
    Value isSmall = ops.binary(Binary.LESS, ops.unary(Unary.ABS, x), ops.number(x.type(), 0.25));
    return ops.select(isSmall, small, large);
  }
}
