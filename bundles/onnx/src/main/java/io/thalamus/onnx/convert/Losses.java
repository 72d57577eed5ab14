// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;

/** Losses: what a network's scores are from the labels that it should have given. */
final class Losses {
  private Losses() {}

  static void addTo(Converters table) {
    table.add("NegativeLogLikelihoodLoss", node -> node.out(loss(node, node.in(0))));
    table.add("SoftmaxCrossEntropyLoss", Losses::crossEntropy);
  }

  private static void crossEntropy(Node node) {
    Value scores = node.in(0);
    node.require(scores.rank() > 1, scores.text() + " has no classes");
    Value logarithms = node.ops().softmax(scores, 1, true);
    node.out(0, loss(node, logarithms));
    node.out(1, logarithms);
  }

  /** The negated logarithms at the labels, times the weights of these; what is ignored is 0. */
  private static Value loss(Node node, Value logarithms) {
    Ops ops = node.ops();
    Value labels = ops.cast(node.in(1), DataType.INT32);
    node.require(
        logarithms.rank() > 1 && Arrays.equals(labels.shape(), Dims.remove(logarithms.shape(), 1)),
        logarithms.text() + " and " + labels.text() + " do not fit");
    int classes = logarithms.dim(1);
    Value column = ops.reshape(labels, Dims.insert(labels.shape(), 1, 1));
    int[] alone = Dims.along(logarithms.rank(), 1, classes);
    Value number = ops.range(alone);
    Value isLabel = ops.binary(Binary.EQUAL, column, number);
    if (node.hasSetting("ignore_index")) {
      Value ignored = ops.number(DataType.INT32, node.setting("ignore_index", 0));
      isLabel = ops.binary(Binary.AND, isLabel, ops.binary(Binary.NOT_EQUAL, column, ignored));
    }
    Value weights = node.has(2) ? ops.reshape(node.in(2), alone) : ops.number(logarithms.type(), 1);
    Value none = ops.number(logarithms.type(), 0);
    Value each = ops.select(isLabel, ops.mul(logarithms, weights), none);
    Value losses = ops.unary(Unary.NEG, ops.reduce(Reduction.SUM, each, 1));
    String reduction = node.text("reduction", "mean");
    if (reduction.equals("none")) {
      return ops.reshape(losses, labels.shape());
    }
    node.require(
        reduction.equals("mean") || reduction.equals("sum"), "its reduction is " + reduction);
    Value sum = sum(ops, losses);
    if (reduction.equals("sum")) {
      return sum;
    }
    return ops.div(sum, sum(ops, ops.select(isLabel, weights, none)));
  }

  private static Value sum(Ops ops, Value value) {
    return ops.reshape(ops.reduce(Reduction.SUM, value, Dims.range(value.rank())));
  }
}
