// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.cpu.DataMovement;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;

/** Operations that put elements in another order. */
final class Rearrange {
  private Rearrange() {}

  static void register(KernelTable.Builder table) {
    for (ExtensionOperationType operation :
        List.of(
            ThalamusExtension.PACK,
            ThalamusExtension.MIRROR_PAD,
            ThalamusExtension.REVERSE,
            ThalamusExtension.AS_STRIDED,
            ThalamusExtension.CONCATENATION)) {
      table.add(operation, DataMovement::kernel, ElementTypes.movable());
    }
  }
}
