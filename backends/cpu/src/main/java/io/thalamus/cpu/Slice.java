// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Slice.KeyLookup;
import io.thalamus.operations.Slice.Lookup;
import java.lang.foreign.MemorySegment;

/** Operations that take some elements of a tensor. */
final class Slice {
  private Slice() {}

  static void register(KernelTable.Builder table) {
    table
        .add(OperationCode.SLICE, DataMovement::kernel, ElementTypes.numbers())
        .add(OperationCode.STRIDED_SLICE, DataMovement::kernel, ElementTypes.reals())
        .add(OperationCode.GATHER, Slice::lookup, ElementTypes.numbers())
        .add(OperationCode.EMBEDDING_LOOKUP, Slice::lookup, ElementTypes.numbers())
        .add(
            OperationCode.HASHTABLE_LOOKUP,
            Slice::keyLookup,
            TENSOR_FLOAT32,
            TENSOR_INT32,
            TENSOR_QUANT8_ASYMM);
  }

  private static Kernel lookup(ResolvedOperation operation) {
    Lookup lookup = operation.parameters(Lookup.class);
    DataMovement mover = DataMovement.of(operation.view().output().type());
    int length = lookup.rowLength();
    return (inputs, outputs, scratch, work) -> {
      long target = 0;
      for (long outer = 0; outer < lookup.outer(); outer++) {
        for (int i = 0; i < lookup.indexes(); i++) {
          int row = Elements.INT32.getInt(inputs[lookup.indexInput()], i);
          if (row < 0 || row >= lookup.rows()) {
            throw new KernelException(
                "index " + i + " is " + row + ", outside of [0, " + lookup.rows() + ")");
          }
          long source = (outer * lookup.rows() + row) * length;
          mover.copy(work, inputs[lookup.valueInput()], source, outputs[0], target, length);
          target += length;
        }
      }
    };
  }

  private static Kernel keyLookup(ResolvedOperation operation) {
    KeyLookup lookup = operation.parameters(KeyLookup.class);
    DataMovement mover = DataMovement.of(operation.view().output(0).type());
    int length = lookup.rowLength();
    return (inputs, outputs, scratch, work) -> {
      outputs[0].fill((byte) 0);
      for (int i = 0; i < lookup.lookups(); i++) {
        int row = find(inputs[1], lookup.keys(), Elements.INT32.getInt(inputs[0], i));
        if (row >= 0) {
          mover.copy(work, inputs[2], (long) row * length, outputs[0], (long) i * length, length);
        }
        Elements.UINT8.setInt(outputs[1], i, row >= 0 ? 1 : 0);
      }
    };
  }

  /** The index of a key among ascending keys, or a negative number. */
  private static int find(MemorySegment keys, int count, int key) {
    int low = 0;
    int high = count - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int found = Elements.INT32.getInt(keys, middle);
      if (found == key) {
        return middle;
      }
      if (found < key) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }
}
