// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.cpu.DataMovement;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Selection.Scattered;
import io.thalamus.operations.extension.Selection.Slices;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;

/** Operations that choose elements by indexes. */
final class Selection {
  private Selection() {}

  static void register(KernelTable.Builder table) {
    table.add(ThalamusExtension.GATHER_ND, Selection::gatherNd, ElementTypes.movable());
    table.add(ThalamusExtension.SCATTER_ND, Selection::scatterNd, ElementTypes.movable());
  }

  private static Kernel gatherNd(ResolvedOperation operation) {
    Slices slices = operation.parameters(Slices.class);
    DataMovement mover = DataMovement.of(operation.view().output().type());
    return (in, out, scratch, work) -> {
      for (int tuple = 0; tuple < slices.tuples(); tuple++) {
        long source = place(slices, in[1], tuple);
        long target = (long) tuple * slices.sliceSize();
        mover.copy(work, in[0], source, out[0], target, slices.sliceSize());
      }
    };
  }

  /** Returns the first element of the slice that a tuple of indexes stands for. */
  private static long place(Slices slices, MemorySegment indexes, int tuple) {
    int size = slices.dimensions().size();
    long place = 0;
    for (int i = 0; i < size; i++) {
      int index = Elements.INT32.getInt(indexes, (long) tuple * size + i);
      int dimension = slices.dimensions().get(i);
      if (index < 0 || index >= dimension) {
        throw new KernelException(
            "index %d of tuple %d is %d, but the dimension is %d"
                .formatted(i, tuple, index, dimension));
      }
      place += index * slices.strides().get(i);
    }
    return place;
  }

  private static Kernel scatterNd(ResolvedOperation operation) {
    Scattered scattered = operation.parameters(Scattered.class);
    Slices slices = scattered.slices();
    Update update = scattered.update();
    Elements elements = Elements.of(operation.view().output().type());
    DataMovement mover = DataMovement.of(operation.view().output().type());
    int size = slices.sliceSize();
    return (in, out, scratch, work) -> {
      mover.copy(work, in[0], 0, out[0], 0, operation.outputShape(0).elementCount());
      for (int tuple = 0; tuple < slices.tuples(); tuple++) {
        long target = place(slices, in[1], tuple);
        long source = (long) tuple * size;
        if (update == Update.REPLACE) {
          mover.copy(work, in[2], source, out[0], target, size);
          continue;
        }
        work.done(size);
        for (int i = 0; i < size; i++) {
          join(update, elements, out[0], target + i, in[2], source + i);
        }
      }
    };
  }

  private static void join(
      Update update, Elements elements, MemorySegment to, long at, MemorySegment from, long index) {
    if (elements.isFloat()) {
      float joined = update.apply(elements.getFloat(to, at), elements.getFloat(from, index));
      elements.setFloat(to, at, joined);
    } else {
      elements.setInt(to, at, update.apply(elements.getInt(to, at), elements.getInt(from, index)));
    }
  }
}
