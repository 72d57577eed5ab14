// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.cpu.DataMovement;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;

/** Operations that put elements in another order. */
final class Rearrange {
  /** All types: what elements stand for does not matter. */
  static final OperandCode[] MOVABLE = {
    TENSOR_FLOAT32,
    TENSOR_FLOAT16,
    TENSOR_INT32,
    TENSOR_BOOL8,
    TENSOR_QUANT16_SYMM,
    TENSOR_QUANT8_ASYMM,
    TENSOR_QUANT8_ASYMM_SIGNED
  };

  private Rearrange() {}

  static void register(KernelTable.Builder table) {
    for (ExtensionOperationType operation :
        List.of(
            ThalamusExtension.PACK,
            ThalamusExtension.MIRROR_PAD,
            ThalamusExtension.REVERSE,
            ThalamusExtension.AS_STRIDED,
            ThalamusExtension.CONCATENATION)) {
      table.add(operation, DataMovement::kernel, MOVABLE);
    }
  }
}
