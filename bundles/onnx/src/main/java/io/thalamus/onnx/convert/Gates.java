// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import java.util.Map;

/**
 * ONNX Runtime's gates of language models with linear attention: steps that it computes in float32,
 * whatever their type.
 */
final class Gates {
  private static final float EPSILON = 1e-5f;

  private Gates() {}

  static void addTo(Converters table) {
    table.add(Fused.DOMAIN + "GatedAdd", Gates::add);
    table.add(Fused.DOMAIN + "GatedRMSNorm", Gates::normalize);
    table.add(Fused.DOMAIN + "LinearAttentionGate", Gates::decay);
    table.add(Fused.DOMAIN + "EngramGate", Gates::engram);
  }

  private static void add(Node node) {
    Ops ops = node.ops();
    node.out(ops.add(node.in(0), ops.mul(node.in(1), node.in(2))));
  }

  /** Each group of as many numbers as there are scales is normalized. */
  private static void normalize(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value scale = node.in(1);
    int size = scale.count();
    node.require(
        value.rank() > 0 && size > 0 && value.dim(value.rank() - 1) % size == 0,
        scale.text() + " does not fit " + value.text());
    Value rows = ops.reshape(ops.cast(value, DataType.FLOAT), value.count() / size, size);
    double epsilon = node.real("epsilon", EPSILON);
    Value plain = Normalization.rms(ops, rows, 1, epsilon, ops.cast(scale, DataType.FLOAT));
    Value gate = ops.cast(node.in(2), DataType.FLOAT);
    Value open = ops.mul(gate, ops.unary(Unary.LOGISTIC, gate));
    node.out(ops.cast(ops.mul(ops.reshape(plain, value.shape()), open), value.type()));
  }

  private static void decay(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value sum = ops.add(ops.cast(value, DataType.FLOAT), ops.cast(node.in(1), DataType.FLOAT));
    Value soft = node.compute("Softplus", Map.of(), sum);
    node.out(ops.cast(ops.mul(soft, ops.cast(node.in(2), DataType.FLOAT)), value.type()));
    if (node.wants(1)) {
      node.out(1, ops.unary(Unary.LOGISTIC, node.in(3)));
    }
  }

  /** A value is let through by how alike keys and queries are, of which each stream has its own. */
  private static void engram(Node node) {
    Ops ops = node.ops();
    Value value = node.in(2);
    double epsilon = node.real("epsilon", EPSILON);
    Value key = rms(node, 0, 3, epsilon);
    Value query = rms(node, 1, 4, epsilon);
    node.require(
        key.rank() == 4
            && value.rank() == 3
            && key.dim(3) == value.dim(2)
            && key.count() == query.count(),
        "its keys %s do not fit %s".formatted(key.text(), value.text()));
    Value dot = ops.reduce(Reduction.SUM, ops.mul(key, query), 3);
    dot = ops.mul(dot, 1 / Math.sqrt(key.dim(3)));
    Value size = ops.max(ops.unary(Unary.ABS, dot), 1e-6);
    Value root = ops.mul(node.compute("Sign", Map.of(), dot), ops.unary(Unary.SQRT, size));
    Value gate = ops.unary(Unary.LOGISTIC, root);
    Value each = ops.reshape(value, value.dim(0), value.dim(1), 1, value.dim(2));
    node.out(ops.cast(ops.mul(gate, ops.cast(each, DataType.FLOAT)), value.type()));
  }

  private static Value rms(Node node, int input, int scale, double epsilon) {
    Ops ops = node.ops();
    Value value = ops.cast(node.in(input), DataType.FLOAT);
    return Normalization.rms(
        ops, value, value.rank() - 1, epsilon, ops.cast(node.in(scale), DataType.FLOAT));
  }
}
