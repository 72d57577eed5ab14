// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.Philox;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.RandomOptions;

/**
 * Operators that draw by lot: what TensorFlow Lite draws in its first call by the file's seeds, and
 * in each execution the same, since a model here has no memory of the last. Where a file has no
 * seeds, they are 0.
 */
final class RandomNumbers {
  private static final int MOST_CLASSES = 4096;

  private RandomNumbers() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RANDOM_UNIFORM, node -> draw(node, false));
    table.add(BuiltinOperator.RANDOM_STANDARD_NORMAL, node -> draw(node, true));
    table.add(BuiltinOperator.MULTINOMIAL, RandomNumbers::multinomial);
  }

  /** TensorFlow Lite keeps 32 bits of each seed. */
  private static Philox generator(Node node) {
    RandomOptions options = node.options(new RandomOptions());
    return new Philox(node.get(options::seed).intValue(), node.get(options::seed2).intValue());
  }

  private static void draw(Node node, boolean isNormal) {
    int[] sizes = node.ints(0);
    for (int size : sizes) {
      node.require(size > 0, "its shape has a dimension of " + size);
    }
    Shape shape = sizes.length == 0 ? Shape.of(1) : Shape.of(sizes);
    float[] values = room(node, shape.elementCount());
    Philox generator = generator(node);
    if (isNormal) {
      generator.normal(values);
    } else {
      generator.uniform(values);
    }
    node.alias(0, node.float32Tensor(shape, values));
  }

  private static float[] room(Node node, long count) {
    return node.constants().room(count, node.output(0));
  }

  /** For each number that is drawn, the count of running sums of probabilities up to it. */
  private static void multinomial(Node node) {
    int logits = node.in(0);
    Operand data = node.operand(logits);
    int samples = node.onlyInt(1);
    node.require(
        data.shape().rank() == 2
            && data.shape().isFullySpecified()
            && data.type() == OperandCode.TENSOR_FLOAT32
            && samples > 0
            && data.shape().dimension(1) <= MOST_CLASSES,
        "it draws %s numbers of data of shape %s".formatted(samples, data.shape()));
    int batch = data.shape().dimension(0);
    int classes = data.shape().dimension(1);
    Shape column = Shape.of(batch, 1);
    int largest =
        node.compute(
            OperationCode.REDUCE_MAX, data, column, logits, node.int32Vector(1), node.bool(true));
    int shares =
        node.compute(
            OperationCode.EXP, logits, node.compute(OperationCode.SUB, logits, logits, largest));
    float[] triangle = room(node, (long) classes * classes);
    for (int i = 0; i < classes; i++) {
      for (int j = 0; j <= i; j++) {
        triangle[i * classes + j] = 1;
      }
    }
    int sums =
        MatrixMultiply.times(
            node, shares, node.float32Tensor(Shape.of(classes, classes), triangle));
    int total = node.temporary(data, column);
    Strided.emit(node, sums, column, classes - 1, new long[] {classes, 1}, total);
    float[] points = room(node, (long) batch * samples);
    Philox generator = generator(node);
    for (int i = 0; i < points.length; i++) {
      points[i] = (float) generator.nextDouble();
    }
    Shape drawn = Shape.of(batch, samples);
    int sought =
        node.compute(OperationCode.MUL, data, drawn, node.float32Tensor(drawn, points), total);
    int found =
        Truths.count(
            node,
            OperationCode.GREATER_EQUAL,
            Reshape.reshaped(node, sought, Shape.of(batch, samples, 1)),
            Reshape.reshaped(node, sums, Shape.of(batch, 1, classes)),
            Shape.of(batch, samples, classes));
    int last = node.int32Tensor(Shape.of(1, 1), classes - 1);
    node.emit(
        OperationCode.MINIMUM,
        node.out(0, OperandCode.TENSOR_INT32, drawn, Quantization.NONE),
        Reshape.reshaped(node, found, drawn),
        last);
  }
}
