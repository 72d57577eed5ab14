// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.FixedPointFunctions;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Normalization.Moments;
import io.thalamus.operations.Normalization.Norm;
import io.thalamus.operations.Normalization.Response;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.ResolvedOperation;

/** Values divided by a measure of their neighbours. */
final class Normalization {
  /** A smaller norm is taken for this one, as in TensorFlow Lite and AOSP. */
  private static final float LEAST_NORM = 1e-6f;

  private Normalization() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.L2_NORMALIZATION, Normalization::l2)
        .quantized8(OperationCode.L2_NORMALIZATION, Normalization::quantizedL2)
        .floats(OperationCode.LOCAL_RESPONSE_NORMALIZATION, Normalization::localResponse)
        .floats(OperationCode.INSTANCE_NORMALIZATION, Normalization::instance);
  }

  private static Kernel l2(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    Lines lines = Lines.of(operation.inputShape(0), operation.parameters(Norm.class).axis());
    return (inputs, outputs, scratch, work) ->
        lines.forEach(
            work,
            (first, end, step) -> {
              double sum = 0;
              for (long i = first; i < end; i += step) {
                double value = elements.getFloat(inputs[0], i);
                sum += value * value;
              }
              float norm = Math.max((float) Math.sqrt(sum), LEAST_NORM);
              for (long i = first; i < end; i += step) {
                elements.setFloat(outputs[0], i, elements.getFloat(inputs[0], i) / norm);
              }
            });
  }

  /** Results have scale 1/128, hence the factor. */
  private static Kernel quantizedL2(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    IntRange range = IntRange.of((OperandCode) operation.view().output().type());
    int inputZeroPoint = operation.view().input(0).zeroPoint();
    int outputZeroPoint = operation.view().output().zeroPoint();
    Lines lines = Lines.of(operation.inputShape(0), operation.parameters(Norm.class).axis());
    return (inputs, outputs, scratch, work) ->
        lines.forEach(
            work,
            (first, end, step) -> {
              int sum = 0;
              for (long i = first; i < end; i += step) {
                int value = elements.getInt(inputs[0], i) - inputZeroPoint;
                sum += value * value;
              }
              Requantization byNorm = FixedPointFunctions.inverseSquareRoot(sum);
              for (long i = first; i < end; i += step) {
                int value = elements.getInt(inputs[0], i) - inputZeroPoint;
                elements.setInt(
                    outputs[0], i, range.clamp(byNorm.apply(value * 128) + outputZeroPoint));
              }
            });
  }

  private static Kernel localResponse(ResolvedOperation operation) {
    Response response = operation.parameters(Response.class);
    Elements elements = Elements.of(operation.view().output().type());
    Lines lines = Lines.of(operation.inputShape(0), response.axis());
    long radius = response.radius();
    return (inputs, outputs, scratch, work) ->
        lines.forEach(
            work,
            (first, end, step) -> {
              for (long i = first; i < end; i += step) {
                work.done(2 * radius);
                float sum = 0;
                for (long j = Math.max(first, i - radius * step);
                    j < Math.min(end, i + (radius + 1) * step);
                    j += step) {
                  float value = elements.getFloat(inputs[0], j);
                  sum += value * value;
                }
                float factor =
                    (float) Math.pow(response.bias() + response.alpha() * sum, -response.beta());
                elements.setFloat(outputs[0], i, elements.getFloat(inputs[0], i) * factor);
              }
            });
  }

  private static Kernel instance(ResolvedOperation operation) {
    Moments moments = operation.parameters(Moments.class);
    Elements elements = Elements.of(operation.view().output().type());
    Shape shape = operation.inputShape(0);
    DataLayout layout = moments.layout();
    int height = layout.height(shape);
    int width = layout.width(shape);
    Index4 index = new Index4(layout, shape);
    return (inputs, outputs, scratch, work) -> {
      for (int b = 0; b < shape.dimension(0); b++) {
        for (int c = 0; c < layout.channels(shape); c++) {
          work.done(3L * height * width);
          double sum = 0;
          for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
              sum += elements.getFloat(inputs[0], index.of(b, y, x, c));
            }
          }
          double mean = sum / (height * width);
          double squares = 0;
          for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
              double difference = elements.getFloat(inputs[0], index.of(b, y, x, c)) - mean;
              squares += difference * difference;
            }
          }
          double deviation = Math.sqrt(squares / (height * width) + moments.epsilon());
          for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
              long i = index.of(b, y, x, c);
              double difference = elements.getFloat(inputs[0], i) - mean;
              elements.setFloat(
                  outputs[0],
                  i,
                  (float) (difference * moments.gamma() / deviation + moments.beta()));
            }
          }
        }
      }
    };
  }
}
