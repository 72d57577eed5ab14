// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Pooling.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;

/** One result for each window over two spatial axes. */
final class Pooling {
  private Pooling() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.AVERAGE_POOL_2D, operation -> floating(operation, Pooling::average))
        .quantized8(OperationCode.AVERAGE_POOL_2D, Pooling::averageStored)
        .quantized8(ThalamusExtension.AVERAGE_POOL_2D, Pooling::averageStored)
        .floats(OperationCode.MAX_POOL_2D, operation -> floating(operation, Pooling::maximum))
        .quantized8(
            OperationCode.MAX_POOL_2D, operation -> quantized(operation, Pooling::maximumStored))
        .floats(OperationCode.L2_POOL_2D, operation -> floating(operation, Pooling::norm));
  }

  /** The result for one window. */
  @FunctionalInterface
  private interface FloatPool {
    float apply(Elements elements, MemorySegment input, Windows.Position at);
  }

  /** The stored result for one window. */
  @FunctionalInterface
  private interface IntPool {
    int apply(Elements elements, MemorySegment input, Windows.Position at);
  }

  private static Kernel floating(ResolvedOperation operation, FloatPool pool) {
    Elements elements = Elements.of(operation.view().output().type());
    FloatRange range = operation.parameters(Parameters.class).activation().range();
    Windows windows = windows(operation);
    return (inputs, outputs, scratch, work) ->
        windows.forEach(
            work,
            (at, result) ->
                elements.setFloat(
                    outputs[0], result, range.clamp(pool.apply(elements, inputs[0], at))));
  }

  private static Kernel quantized(ResolvedOperation operation, IntPool pool) {
    Elements elements = Elements.of(operation.view().output().type());
    IntRange range = operation.parameters(Parameters.class).stored().orElseThrow();
    Windows windows = windows(operation);
    return (inputs, outputs, scratch, work) ->
        windows.forEach(
            work,
            (at, result) ->
                elements.setInt(
                    outputs[0], result, range.clamp(pool.apply(elements, inputs[0], at))));
  }

  private static float average(Elements elements, MemorySegment input, Windows.Position at) {
    double sum = 0;
    for (int y = at.firstY(); y < at.endY(); y++) {
      at.startRow(1);
      for (int x = at.firstX(); x < at.endX(); x++) {
        sum += elements.getFloat(input, at.input(y, x, at.channel()));
      }
    }
    return (float) (sum / at.cells());
  }

  private static float maximum(Elements elements, MemorySegment input, Windows.Position at) {
    float maximum = Float.NEGATIVE_INFINITY;
    for (int y = at.firstY(); y < at.endY(); y++) {
      at.startRow(1);
      for (int x = at.firstX(); x < at.endX(); x++) {
        maximum = Math.max(maximum, elements.getFloat(input, at.input(y, x, at.channel())));
      }
    }
    return maximum;
  }

  /** The root of the mean square. */
  private static float norm(Elements elements, MemorySegment input, Windows.Position at) {
    double sum = 0;
    for (int y = at.firstY(); y < at.endY(); y++) {
      at.startRow(1);
      for (int x = at.firstX(); x < at.endX(); x++) {
        double value = elements.getFloat(input, at.input(y, x, at.channel()));
        sum += value * value;
      }
    }
    return (float) Math.sqrt(sum / at.cells());
  }

  private static Kernel averageStored(ResolvedOperation operation) {
    int origin = operation.parameters(Parameters.class).origin();
    return quantized(operation, (elements, in, at) -> averageStored(elements, in, at, origin));
  }

  /** Rounded to nearest; a tie goes away from the origin. */
  private static int averageStored(
      Elements elements, MemorySegment input, Windows.Position at, int origin) {
    int sum = -origin * at.cells();
    for (int y = at.firstY(); y < at.endY(); y++) {
      at.startRow(1);
      for (int x = at.firstX(); x < at.endX(); x++) {
        sum += elements.getInt(input, at.input(y, x, at.channel()));
      }
    }
    int half = at.cells() / 2;
    return (sum < 0 ? sum - half : sum + half) / at.cells() + origin;
  }

  private static int maximumStored(Elements elements, MemorySegment input, Windows.Position at) {
    int maximum = Integer.MIN_VALUE;
    for (int y = at.firstY(); y < at.endY(); y++) {
      at.startRow(1);
      for (int x = at.firstX(); x < at.endX(); x++) {
        maximum = Math.max(maximum, elements.getInt(input, at.input(y, x, at.channel())));
      }
    }
    return maximum;
  }

  private static Windows windows(ResolvedOperation operation) {
    Parameters parameters = operation.parameters(Parameters.class);
    return Windows.over(
        parameters.layout(),
        parameters.height(),
        parameters.width(),
        operation.inputShape(0),
        operation.outputShape(0));
  }
}
