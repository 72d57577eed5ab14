// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;

/** Products of matrices. */
final class Matrices {
  private Matrices() {}

  static void addTo(Converters table) {
    table.add("MatMul", node -> node.out(node.ops().matmul(node.in(0), node.in(1))));
    table.add("Gemm", Matrices::gemm);
    table.add("MatMulInteger", Matrices::matmulInteger);
  }

  private static void gemm(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value a = node.in(0);
    Value b = node.in(1);
    node.require(a.rank() == 2 && b.rank() == 2, "its inputs are no matrices");
    if (node.flag("transA", false)) {
      a = ops.transpose(a, 1, 0);
    }
    if (node.flag("transB", false)) {
      b = ops.transpose(b, 1, 0);
    }
    node.require(
        a.type().isFloat() || node.real("alpha", 1) == 1 && node.real("beta", 1) == 1,
        "its factors are no integers");
    double alpha = node.real("alpha", 1);
    double beta = node.real("beta", 1);
    Value bias = node.has(2) && beta != 0 ? ops.mul(node.in(2), beta) : null;
    boolean isLayer =
        a.type().isFloat()
            && b.isConstant()
            && !a.isConstant()
            && alpha == 1
            && bias != null
            && bias.isConstant()
            && (bias.rank() == 1 && bias.dim(0) == b.dim(1)
                || bias.rank() == 2 && bias.dim(0) == 1 && bias.dim(1) == b.dim(1));
    if (isLayer) {
      node.out(ops.fullyConnected(a, ops.transpose(b, 1, 0), ops.flat(bias)));
      return;
    }
    Value product = ops.mul(ops.matmul(a, b), alpha);
    node.out(bias == null ? product : ops.add(product, bias));
  }

  private static void matmulInteger(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value a = shifted(node, 0, 2);
    Value b = shifted(node, 1, 3);
    node.out(ops.matmul(a, b));
  }

  /** An 8-bit input less its zero point, as INT32; that of the first matrix is one for each row. */
  static Value shifted(Node node, int input, int zero) throws ModelFormatException {
    Ops ops = node.ops();
    Value wide = ops.cast(node.in(input), DataType.INT32);
    if (!node.has(zero)) {
      return wide;
    }
    Value point = ops.cast(node.in(zero), DataType.INT32);
    return ops.sub(wide, input == 0 ? ofRows(ops, point) : point(ops, point));
  }

  /** The values that belong to all columns, or to each. */
  static Value point(Ops ops, Value value) throws ModelFormatException {
    return value.count() == 1 ? ops.reshape(value) : value;
  }

  /** The values that belong to all rows, or to each. */
  static Value ofRows(Ops ops, Value value) throws ModelFormatException {
    return value.rank() == 1 && value.count() > 1
        ? ops.reshape(value, value.count(), 1)
        : point(ops, value);
  }
}
