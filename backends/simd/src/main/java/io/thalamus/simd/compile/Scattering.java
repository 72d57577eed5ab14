// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.operations.extension.Selection.Scattered;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;

/** Slices of a tensor that are updated at places that indexes tell: SCATTER_ND. */
final class Scattering extends UnitStep {
  /** Elements of a slice below which one thread updates it whole. */
  private static final int LEAST_SHARED = 64;

  private final Scattered scattered;
  private final int[] dimensions;
  private final int[] strides;
  private final Tensor data;
  private final Tensor indexes;
  private final Tensor updates;
  private final Tensor output;

  private Scattering(Node node, Tensors tensors, Budget budget) {
    Scattered parameters = node.operation().parameters(Scattered.class);
    int length = parameters.slices().sliceSize();
    Tensor target = tensors.output(node);
    super(length, length < LEAST_SHARED ? 1 : budget.tiles(2L * target.size()));
    scattered = parameters;
    dimensions = parameters.slices().dimensions().stream().mapToInt(Integer::intValue).toArray();
    strides = parameters.slices().strides().stream().mapToInt(Math::toIntExact).toArray();
    data = tensors.input(node, 0);
    indexes = tensors.input(node, 1);
    updates = tensors.input(node, 2);
    output = target;
  }

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.SCATTER_ND, Finding::areTensorsKnown, Scattering::step, Moving.TYPES);
  }

  private static Step step(Node node, Tensors tensors, Budget budget) {
    return new Scattering(node, tensors, budget);
  }

  /** Updates some elements of each slice, so that the order of updates is that of the tuples. */
  @Override
  void run(Frame frame, Scratch scratch, int first, int end) {
    int length = scattered.slices().sliceSize();
    Object out = frame.array(output);
    Object in = frame.array(data);
    if (end - first == length) {
      System.arraycopy(in, data.offset(), out, output.offset(), output.size());
    } else {
      for (int at = first; at < output.size(); at += length) {
        System.arraycopy(in, data.offset() + at, out, output.offset() + at, end - first);
      }
    }
    int[] places = frame.ints(indexes);
    Object given = frame.array(updates);
    int size = dimensions.length;
    for (int tuple = 0; tuple < scattered.slices().tuples(); tuple++) {
      int to = output.offset() + first;
      for (int i = 0; i < size; i++) {
        int index = places[indexes.offset() + tuple * size + i];
        if (index < 0 || index >= dimensions[i]) {
          frame.fail(
              "index %d is %d, outside of [0, %d)"
                  .formatted(tuple * size + i, index, dimensions[i]));
          return;
        }
        to += index * strides[i];
      }
      int from = updates.offset() + tuple * length + first;
      if (scattered.update() == Update.REPLACE) {
        System.arraycopy(given, from, out, to, end - first);
      } else if (out instanceof float[] floats) {
        join(scattered.update(), (float[]) given, from, floats, to, end - first);
      } else {
        join(scattered.update(), (int[]) given, from, (int[]) out, to, end - first);
      }
    }
  }

  private static void join(Update update, float[] given, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i++) {
      float one = given[from + i];
      float found = out[to + i];
      out[to + i] =
          switch (update) {
            case REPLACE -> one;
            case ADD -> found + one;
            case MULTIPLY -> found * one;
            case MAXIMUM -> Math.max(found, one);
            case MINIMUM -> Math.min(found, one);
          };
    }
  }

  private static void join(Update update, int[] given, int from, int[] out, int to, int count) {
    for (int i = 0; i < count; i++) {
      int one = given[from + i];
      int found = out[to + i];
      out[to + i] =
          switch (update) {
            case REPLACE -> one;
            case ADD -> found + one;
            case MULTIPLY -> found * one;
            case MAXIMUM -> Math.max(found, one);
            case MINIMUM -> Math.min(found, one);
          };
    }
  }
}
