// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxAttribute;
import java.util.List;
import java.util.stream.IntStream;

/** What classifiers and regressors of ai.onnx.ml make of their scores. Stateless. */
final class Scores {
  private static final String TEXTS = "classlabels_strings";

  /** Scores nearer to 0 are 0 for SOFTMAX_ZERO. */
  private static final double ZERO = 1e-7;

  private static final double WINITZKI = 0.147;

  private Scores() {}

  /** The number of classes, by their labels. */
  static int classes(Node node, String numbers) {
    int[] labels = node.list(numbers);
    OnnxAttribute texts = node.onnx().attributes().get(TEXTS);
    int classes =
        labels != null && labels.length > 0
            ? labels.length
            : texts == null ? 0 : texts.strings().size();
    node.require(classes > 0, "its labels are missing");
    return classes;
  }

  /** The labels of classes; the number of a class stands for a label that is a text. */
  static Value labels(Node node, String numbers, Value places) {
    Ops ops = node.ops();
    Value place = ops.flat(places);
    int[] labels = node.list(numbers);
    boolean isByNumber =
        labels == null
            || labels.length == 0
            || IntStream.range(0, labels.length).allMatch(i -> labels[i] == i);
    if (isByNumber) {
      return ops.cast(place, DataType.INT64);
    }
    double[] values = IntStream.of(labels).asDoubleStream().toArray();
    Value table = ops.constant(DataType.INT64, new int[] {labels.length}, values);
    return ops.gather(table, 0, place);
  }

  /** Scores with a number added to each column. */
  static Value added(Ops ops, Value scores, float[] numbers) {
    return ops.add(scores, row(ops, numbers));
  }

  /** A constant row. */
  static Value row(Ops ops, float[] numbers) {
    double[] values = ops.budget().doubles(numbers.length);
    for (int i = 0; i < values.length; i++) {
      values[i] = numbers[i];
    }
    return ops.constant(DataType.FLOAT, new int[] {1, values.length}, values);
  }

  /** Scores after the setting post_transform. */
  static Value transformed(Node node, Value scores) {
    return transformed(node, scores, node.text("post_transform", "NONE"));
  }

  static Value transformed(Node node, Value scores, String kind) {
    Ops ops = node.ops();
    return switch (kind) {
      case "NONE" -> scores;
      case "LOGISTIC" -> ops.unary(Unary.LOGISTIC, scores);
      case "SOFTMAX" -> ops.softmax(scores, 1, false);
      case "SOFTMAX_ZERO" -> softmaxZero(ops, scores);
      case "PROBIT" -> probit(ops, scores);
      default -> throw node.refuse("its post_transform is " + kind);
    };
  }

  /** The exponentials of what is not 0, divided by their sum. */
  private static Value softmaxZero(Ops ops, Value scores) {
    Value most = ops.reduce(Reduction.MAX, scores, 1);
    Value isZero =
        ops.binary(
            Binary.LESS_EQUAL, ops.unary(Unary.ABS, scores), ops.number(DataType.FLOAT, ZERO));
    Value power = ops.unary(Unary.EXP, ops.sub(scores, most));
    Value kept = ops.select(isZero, ops.number(DataType.FLOAT, 0), power);
    return ops.div(kept, ops.reduce(Reduction.SUM, kept, 1));
  }

  /**
   * The numbers of which so much of a normal distribution is below, {@code sqrt(2) erfinv(2 p -
   * 1)}, by Winitzki's formula, as ONNX Runtime has it.
   */
  private static Value probit(Ops ops, Value scores) {
    Value number = ops.add(ops.mul(scores, 2), -1);
    Value rest = ops.sub(ops.number(DataType.FLOAT, 1), ops.square(number));
    Value log = ops.unary(Unary.LOG, rest);
    Value half = ops.add(ops.mul(log, 0.5), 2 / (3.14159 * WINITZKI));
    Value inner = ops.sub(ops.square(half), ops.mul(log, 1 / WINITZKI));
    Value size = ops.unary(Unary.SQRT, ops.sub(ops.unary(Unary.SQRT, inner), half));
    Value isBelow = ops.binary(Binary.LESS, number, ops.number(DataType.FLOAT, 0));
    Value signed = ops.select(isBelow, ops.unary(Unary.NEG, size), size);
    return ops.mul(signed, Math.sqrt(2));
  }

  /**
   * The scores of two classes, of which only that of the second is computed.
   *
   * @param isProbability whether it is one where no function is applied
   */
  static Value ofTwo(Node node, Value second, boolean isProbability) {
    Ops ops = node.ops();
    Value opposite = ops.unary(Unary.NEG, second);
    return switch (node.text("post_transform", "NONE")) {
      case "LOGISTIC" -> ops.unary(Unary.LOGISTIC, ops.concat(List.of(opposite, second), 1));
      case "PROBIT" ->
          throw node.refuse(
              "its post_transform is PROBIT, of which ONNX Runtime gives one of two classes alone");
      default -> ops.concat(List.of(isProbability ? ops.add(opposite, 1) : opposite, second), 1);
    };
  }
}
