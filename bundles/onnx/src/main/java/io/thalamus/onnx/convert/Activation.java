// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;

/** Activations: one operation of NNAPI where it has one, else what ONNX defines them by. */
final class Activation {
  private Activation() {}

  static void addTo(Converters table) {
    table.add("Relu", node -> node.out(node.ops().unary(Unary.RELU, node.openIn(0))));
    table.add("Sigmoid", node -> node.out(node.ops().unary(Unary.LOGISTIC, node.openIn(0))));
    table.add("Tanh", node -> node.out(node.ops().unary(Unary.TANH, node.openIn(0))));
    table.add("HardSwish", node -> node.out(node.ops().unary(Unary.HARD_SWISH, node.openIn(0))));
    table.add("LeakyRelu", Activation::leakyRelu);
    table.add("PRelu", Activation::prelu);
    table.add("Elu", node -> node.out(elu(node.ops(), node.openIn(0), node.real("alpha", 1))));
    table.add("Selu", Activation::selu);
    table.add("Celu", Activation::celu);
    table.add("Softplus", node -> node.out(softplus(node.ops(), node.openIn(0))));
    table.add("Softsign", Activation::softsign);
    table.add("HardSigmoid", Activation::hardSigmoid);
    table.add("ThresholdedRelu", Activation::thresholdedRelu);
    table.add("Shrink", Activation::shrink);
    table.add("Gelu", Activation::gelu);
    table.add("Swish", Activation::swish);
    table.add("Mish", Activation::mish);
    table.add("Softmax", node -> softmax(node, false));
    table.add("LogSoftmax", node -> softmax(node, true));
    table.add("Hardmax", Activation::hardmax);
  }

  private static Value eachElement(Ops ops, OperationCode operation, Value value, int setting) {
    return value.isOpen()
        ? ops.emitSized(value.type(), value.shape(), operation, ops.operand(value), setting)
        : ops.emit(value.type(), operation, ops.operand(value), setting).as(value.shape());
  }

  /** The function that NNAPI calls PRELU, with slopes that are broadcast. */
  static Value prelu(Ops ops, Value value, Value slope) {
    if (value.type().isFloat()) {
      return eachElement(ops, OperationCode.PRELU, value, ops.operand(slope));
    }
    return ops.add(ops.max(value, 0), ops.mul(slope, ops.min(value, 0)));
  }

  private static void leakyRelu(Node node) {
    Value value = node.openIn(0);
    Value slope = node.ops().number(value.type(), node.real("alpha", 0.01f));
    node.out(prelu(node.ops(), value, slope));
  }

  private static void prelu(Node node) {
    Value value = node.openIn(0);
    Value slope = node.openIn(1);
    if (node.opset() < 7 && slope.rank() == 1 && value.rank() > 2 && slope.count() > 1) {
      slope = Normalization.perChannel(node.ops(), slope, value.rank());
    }
    node.out(prelu(node.ops(), value, slope));
  }

  static Value elu(Ops ops, Value value, double alpha) {
    return eachElement(ops, OperationCode.ELU, value, ops.real(alpha));
  }

  private static void selu(Node node) {
    double alpha = node.real("alpha", 1.67326319217681884765625f);
    double gamma = node.real("gamma", 1.05070102214813232421875f);
    Ops ops = node.ops();
    node.out(ops.mul(elu(ops, node.openIn(0), alpha), gamma));
  }

  private static void celu(Node node) {
    double alpha = node.real("alpha", 1);
    Ops ops = node.ops();
    node.require(alpha > 0, "its alpha is " + alpha);
    Value scaled = ops.mul(node.openIn(0), 1 / alpha);
    node.out(ops.mul(elu(ops, scaled, 1), alpha));
  }

  /** {@code log(1 + exp(x))}, so that large x do not overflow. */
  static Value softplus(Ops ops, Value value) {
    Value small = ops.unary(Unary.EXP, ops.unary(Unary.NEG, ops.unary(Unary.ABS, value)));
    return ops.add(ops.unary(Unary.RELU, value), ops.unary(Unary.LOG, ops.add(small, 1)));
  }

  static Value softsign(Ops ops, Value value) {
    return ops.div(value, ops.add(ops.unary(Unary.ABS, value), 1));
  }

  private static void softsign(Node node) {
    node.out(softsign(node.ops(), node.openIn(0)));
  }

  static Value hardSigmoid(Ops ops, Value value, double alpha, double beta) {
    return ops.min(ops.max(ops.add(ops.mul(value, alpha), beta), 0), 1);
  }

  private static void hardSigmoid(Node node) {
    node.out(
        hardSigmoid(node.ops(), node.openIn(0), node.real("alpha", 0.2f), node.real("beta", 0.5f)));
  }

  private static void thresholdedRelu(Node node) {
    node.out(thresholdedRelu(node.ops(), node.openIn(0), node.real("alpha", 1)));
  }

  static Value thresholdedRelu(Ops ops, Value value, double alpha) {
    Value isOver = ops.binary(Binary.GREATER, value, ops.number(value.type(), alpha));
    return ops.select(isOver, value, ops.number(value.type(), 0));
  }

  /** Integers are moved as real numbers, whose fractions are then cut off. */
  private static void shrink(Node node) {
    Ops ops = node.ops();
    Value given = node.openIn(0);
    DataType type = given.type();
    Value value = type.isFloat() ? given : ops.cast(given, DataType.FLOAT);
    double lambd = node.real("lambd", 0.5f);
    double bias = node.real("bias", 0);
    Value isLow = ops.binary(Binary.LESS, value, ops.number(value.type(), -lambd));
    Value isHigh = ops.binary(Binary.GREATER, value, ops.number(value.type(), lambd));
    Value high = ops.select(isHigh, ops.add(value, -bias), ops.number(value.type(), 0));
    Value moved = ops.select(isLow, ops.add(value, bias), high);
    node.out(
        type.is8Bit() ? ops.cast(ops.cast(moved, DataType.INT32), type) : ops.cast(moved, type));
  }

  private static void gelu(Node node) {
    String approximation = node.text("approximate", "none");
    boolean isTanh = approximation.equals("tanh");
    node.require(isTanh || approximation.equals("none"), "it is approximated by " + approximation);
    node.out(isTanh ? tanhGelu(node.ops(), node.openIn(0)) : gelu(node.ops(), node.openIn(0)));
  }

  static Value gelu(Ops ops, Value value) {
    Value inner = ops.unary(Unary.ERF, ops.mul(value, Math.sqrt(0.5)));
    return ops.mul(ops.mul(value, 0.5), ops.add(inner, 1));
  }

  /** The same, with the error function approximated by a hyperbolic tangent. */
  static Value tanhGelu(Ops ops, Value value) {
    Value cube = ops.mul(ops.square(value), value);
    Value sum = ops.add(value, ops.mul(cube, 0.044715));
    Value inner = ops.unary(Unary.TANH, ops.mul(sum, Math.sqrt(2 / Math.PI)));
    return ops.mul(ops.mul(value, 0.5), ops.add(inner, 1));
  }

  private static void swish(Node node) {
    Ops ops = node.ops();
    Value scaled = ops.mul(node.openIn(0), node.real("alpha", 1));
    node.out(ops.mul(node.openIn(0), ops.unary(Unary.LOGISTIC, scaled)));
  }

  private static void mish(Node node) {
    Ops ops = node.ops();
    node.out(ops.mul(node.openIn(0), ops.unary(Unary.TANH, softplus(ops, node.openIn(0)))));
  }

  /** Before version 13 all dimensions from the axis on are one. */
  private static void softmax(Node node, boolean isLog) {
    Value value = node.openIn(0);
    if (node.opset() >= 13) {
      int axis = node.axis(node.setting("axis", -1), value.rank());
      node.out(node.ops().softmax(value, axis, isLog));
      return;
    }
    Value rows = rows(node, value);
    Value result = node.ops().softmax(rows, 1, isLog);
    node.out(node.ops().reshape(result, value.shape()));
  }

  private static Value rows(Node node, Value value) {
    int axis = node.setting("axis", 1);
    int counted = axis == value.rank() ? axis : node.axis(axis, value.rank());
    return node.ops()
        .reshape(
            value,
            Dims.count(value.shape(), 0, counted),
            Dims.count(value.shape(), counted, value.rank()));
  }

  private static void hardmax(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    boolean isNew = node.opset() >= 13;
    Value seen = isNew ? value : rows(node, value);
    int axis = isNew ? node.axis(node.setting("axis", -1), value.rank()) : 1;
    Value place = OpenSizes.expandDims(ops, ops.place(seen, axis, true, false), axis);
    Value numbers = ops.range(Dims.along(seen.rank(), axis, seen.dim(axis)));
    Value places = ops.cast(numbers, DataType.INT64);
    Value hit = ops.cast(ops.binary(Binary.EQUAL, place, places), value.type());
    node.out(ops.reshape(hit, value.shape()));
  }
}
