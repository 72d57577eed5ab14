// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import java.util.ArrayList;
import java.util.List;

/**
 * The probabilities of classes, of which those of each pair are known: Wu, Lin and Weng's second
 * method, round by round as libsvm and ONNX Runtime have it. Rows end in different rounds, as soon
 * as they are near enough: what comes out is not the limit.
 */
record Coupling(Ops ops, int rows, int classes) {
  private static final int MOST_ROUNDS = 100;
  private static final double NEAR = 0.005;
  private static final double LEAST = 1e-7;
  private static final int MOST_CLASSES = 256;

  /**
   * The probabilities by the settings prob_a and prob_b of a node.
   *
   * @param scores for each row that of each pair
   * @param first for each pair the class that a positive score speaks for
   * @param second the other one
   */
  static Value probabilities(Node node, Value scores, int classes, int[] first, int[] second) {
    float[] a = node.reals("prob_a");
    float[] b = node.reals("prob_b");
    int pairs = first.length;
    node.require(
        a.length == pairs && b != null && b.length == pairs && classes <= MOST_CLASSES,
        "its probabilities do not fit its classes");
    Ops ops = node.ops();
    Value turned = ops.add(ops.mul(scores, Scores.row(ops, a)), Scores.row(ops, b));
    Value other = ops.unary(Unary.LOGISTIC, turned);
    Value won = ops.min(ops.max(ops.sub(ops.number(DataType.FLOAT, 1), other), LEAST), 1 - LEAST);
    Coupling coupling = new Coupling(ops, scores.dim(0), classes);
    Value matrix = coupling.matrix(won, first, second);
    Value equal = ops.fill(DataType.FLOAT, new int[] {coupling.rows, classes}, 1.0 / classes);
    return Loops.convert(
            node,
            ops.number(DataType.INT64, MOST_ROUNDS),
            ops.number(DataType.BOOL, 1),
            List.of(equal, matrix),
            0,
            (inner, _, _, states) ->
                new Coupling(inner.ops(), coupling.rows, classes)
                    .round(states.get(0), states.get(1)))
        .getFirst();
  }

  /** The matrix of each row, of which the quadratic form is least for the probabilities. */
  private Value matrix(Value won, int[] first, int[] second) {
    int pairs = first.length;
    Value lost = ops.sub(ops.number(DataType.FLOAT, 1), won);
    Value parts = ops.concat(List.of(ops.mul(won, lost), ops.square(lost), ops.square(won)), 1);
    int cells = classes * classes;
    double[] places = ops.budget().doubles(Math.multiplyExact(3 * cells, pairs));
    for (int i = 0; i < pairs; i++) {
      places[(first[i] * classes + second[i]) * 3 * pairs + i] = -1;
      places[(second[i] * classes + first[i]) * 3 * pairs + i] = -1;
      places[first[i] * (classes + 1) * 3 * pairs + pairs + i] = 1;
      places[second[i] * (classes + 1) * 3 * pairs + 2 * pairs + i] = 1;
    }
    Value table = ops.constant(DataType.FLOAT, new int[] {cells, 3 * pairs}, places);
    return ops.reshape(ops.fullyConnected(parts, table, null), rows, classes, classes);
  }

  private List<Value> round(Value before, Value matrix) {
    Value one = ops.number(DataType.FLOAT, 1);
    Value probability = before;
    Value product =
        ops.reshape(
            ops.multiply(matrix, ops.reshape(before, rows, classes, 1), false), rows, classes);
    Value form = ops.reduce(Reduction.SUM, ops.mul(before, product), 1);
    Value distance = ops.reduce(Reduction.MAX, ops.unary(Unary.ABS, ops.sub(product, form)), 1);
    Value isFar =
        ops.binary(Binary.GREATER_EQUAL, distance, ops.number(DataType.FLOAT, NEAR / classes));
    for (int i = 0; i < classes; i++) {
      Value line = ops.reshape(ops.part(matrix, 1, i, 1), rows, classes);
      Value own = ops.part(line, 1, i, 1);
      Value now = ops.part(product, 1, i, 1);
      Value step = ops.div(ops.sub(form, now), own);
      Value whole = ops.add(step, one);
      Value grown = ops.mul(step, ops.add(ops.mul(step, own), ops.mul(now, 2)));
      form = ops.div(ops.div(ops.add(form, grown), whole), whole);
      product = ops.div(ops.add(product, ops.mul(step, line)), whole);
      double[] unit = new double[classes];
      unit[i] = 1;
      Value added = ops.mul(step, ops.constant(DataType.FLOAT, new int[] {1, classes}, unit));
      probability = ops.div(ops.add(probability, added), whole);
    }
    Value next = ops.select(isFar, probability, before);
    Value far = ops.reduce(Reduction.MAX, ops.cast(isFar, DataType.FLOAT), 0);
    Value goesOn = ops.binary(Binary.GREATER, far, ops.number(DataType.FLOAT, 0));
    return new ArrayList<>(List.of(goesOn, next, matrix));
  }
}
