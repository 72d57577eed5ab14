// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.cpu.DataMovement;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Selection.Slices;
import io.thalamus.operations.extension.ThalamusExtension;

/** Operations that choose elements by indexes. */
final class Selection {
  private Selection() {}

  static void register(KernelTable.Builder table) {
    table.add(ThalamusExtension.GATHER_ND, Selection::gatherNd, Rearrange.MOVABLE);
  }

  private static Kernel gatherNd(ResolvedOperation operation) {
    Slices slices = operation.parameters(Slices.class);
    DataMovement mover = DataMovement.of(operation.view().output().type());
    int size = slices.dimensions().size();
    return (in, out, scratch, work) -> {
      for (int tuple = 0; tuple < slices.tuples(); tuple++) {
        long source = 0;
        for (int i = 0; i < size; i++) {
          int index = Elements.INT32.getInt(in[1], (long) tuple * size + i);
          int dimension = slices.dimensions().get(i);
          if (index < 0 || index >= dimension) {
            throw new KernelException(
                "index %d of tuple %d is %d, but the dimension is %d"
                    .formatted(i, tuple, index, dimension));
          }
          source += index * slices.strides().get(i);
        }
        long target = (long) tuple * slices.sliceSize();
        mover.copy(work, in[0], source, out[0], target, slices.sliceSize());
      }
    };
  }
}
