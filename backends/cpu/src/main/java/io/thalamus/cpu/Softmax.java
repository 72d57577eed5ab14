// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Softmax.Parameters;
import io.thalamus.operations.Softmax.StoredScores;
import java.lang.foreign.MemorySegment;

/** Scores made into probabilities along one axis. */
final class Softmax {
  private Softmax() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.SOFTMAX, Softmax::probabilities)
        .quantized8(OperationCode.SOFTMAX, Softmax::storedProbabilities)
        .floats(OperationCode.LOG_SOFTMAX, Softmax::logProbabilities);
  }

  private static Kernel probabilities(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    float beta = operation.parameters(Parameters.class).beta();
    Lines lines = Lines.of(operation.inputShape(0), operation.parameters(Parameters.class).axis());
    return (inputs, outputs, scratch, work) ->
        lines.forEach(
            work,
            (first, end, step) -> {
              float max = max(elements, inputs[0], first, end, step);
              double sum = 0;
              for (long i = first; i < end; i += step) {
                sum += (float) Math.exp((elements.getFloat(inputs[0], i) - max) * beta);
              }
              for (long i = first; i < end; i += step) {
                float exp = (float) Math.exp((elements.getFloat(inputs[0], i) - max) * beta);
                elements.setFloat(outputs[0], i, (float) (exp / sum));
              }
            });
  }

  private static float max(
      Elements elements, MemorySegment input, long first, long end, long step) {
    float max = Float.NEGATIVE_INFINITY;
    for (long i = first; i < end; i += step) {
      max = Math.max(max, elements.getFloat(input, i));
    }
    return max;
  }

  private static Kernel logProbabilities(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    float beta = operation.parameters(Parameters.class).beta();
    Lines lines = Lines.of(operation.inputShape(0), operation.parameters(Parameters.class).axis());
    return (inputs, outputs, scratch, work) ->
        lines.forEach(
            work,
            (first, end, step) -> {
              float max = max(elements, inputs[0], first, end, step);
              double sum = 0;
              for (long i = first; i < end; i += step) {
                sum += Math.exp((elements.getFloat(inputs[0], i) - max) * beta);
              }
              double logSum = Math.log(sum);
              for (long i = first; i < end; i += step) {
                double scaled = (elements.getFloat(inputs[0], i) - max) * beta;
                elements.setFloat(outputs[0], i, (float) (scaled - logSum));
              }
            });
  }

  /** TensorFlow Lite's reference for both 8-bit types, with gemmlowp's fixed-point functions. */
  private static Kernel storedProbabilities(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    IntRange range = IntRange.of((OperandCode) operation.view().output().type());
    int zeroPoint = operation.view().output().zeroPoint();
    StoredScores scores = operation.parameters(Parameters.class).quantized().orElseThrow();
    Lines lines = Lines.of(operation.inputShape(0), operation.parameters(Parameters.class).axis());
    return (inputs, outputs, scratch, work) ->
        lines.forEach(
            work,
            (first, end, step) -> {
              int max = Integer.MIN_VALUE;
              for (long i = first; i < end; i += step) {
                max = Math.max(max, elements.getInt(inputs[0], i));
              }
              long sum = 0;
              for (long i = first; i < end; i += step) {
                int difference = elements.getInt(inputs[0], i) - max;
                sum += StoredScores.term(scores.exponential(difference));
              }
              int reciprocal = StoredScores.reciprocal(sum);
              int shift = StoredScores.shift(sum);
              for (long i = first; i < end; i += step) {
                int difference = elements.getInt(inputs[0], i) - max;
                int probability =
                    StoredScores.probability(scores.exponential(difference), reciprocal, shift);
                elements.setInt(outputs[0], i, range.clamp(probability + zeroPoint));
              }
            });
  }
}
