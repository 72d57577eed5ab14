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
  private final Tuples tuples;
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
    tuples = new Tuples(parameters.slices().dimensions(), parameters.slices().strides());
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
    for (int tuple = 0; tuple < scattered.slices().tuples(); tuple++) {
      int place = tuples.place(frame, places, indexes.offset(), tuple);
      if (place < 0) {
        return;
      }
      int to = output.offset() + first + place;
      int from = updates.offset() + tuple * length + first;
      join(scattered.update(), given, from, out, to, end - first);
    }
  }

  private static void join(Update update, Object given, int from, Object out, int to, int count) {
    if (update == Update.REPLACE) {
      System.arraycopy(given, from, out, to, count);
    } else if (out instanceof float[] floats) {
      float[] more = (float[]) given;
      for (int i = 0; i < count; i++) {
        floats[to + i] = update.apply(floats[to + i], more[from + i]);
      }
    } else {
      int[] ints = (int[]) out;
      int[] more = (int[]) given;
      for (int i = 0; i < count; i++) {
        ints[to + i] = update.apply(ints[to + i], more[from + i]);
      }
    }
  }
}
