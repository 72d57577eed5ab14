// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.LshProjection.Form;
import io.thalamus.operations.LshProjection.Parameters;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;

/** LSH_PROJECTION. Scratch memory: a seed in float and the bytes of an item, which are hashed. */
record LshProjection(Parameters parameters, Elements elements) implements Kernel {
  LshProjection(ResolvedOperation operation) {
    this(operation.parameters(Parameters.class), Elements.of(operation.view().input(0).type()));
  }

  static void register(KernelTable.Builder table) {
    table.floats(OperationCode.LSH_PROJECTION, LshProjection::new);
  }

  @Override
  public long scratchSize() {
    return Float.BYTES + (long) parameters.itemSize();
  }

  @Override
  public void run(
      MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
    for (int table = 0; table < parameters.tables(); table++) {
      int signature = 0;
      for (int i = 0; i < parameters.bits(); i++) {
        long index = (long) table * parameters.bits() + i;
        int bit = bit(inputs, elements.getFloat(inputs[0], index), scratch, work);
        signature = signature << 1 | bit;
        if (parameters.form() == Form.DENSE) {
          Elements.INT32.setInt(outputs[0], index, bit);
        }
      }
      if (parameters.form() == Form.SPARSE) {
        signature += table * (1 << parameters.bits());
      }
      if (parameters.form() != Form.DENSE) {
        Elements.INT32.setInt(outputs[0], table, signature);
      }
    }
  }

  private int bit(MemorySegment[] inputs, float seed, MemorySegment scratch, WorkMeter work) {
    int size = parameters.itemSize();
    Elements.FLOAT32.setFloat(scratch, 0, seed);
    double score = 0;
    for (int i = 0; i < parameters.items(); i++) {
      work.done(size);
      MemorySegment.copy(inputs[1], (long) i * size, scratch, Float.BYTES, size);
      double hash = FarmHash.fingerprint(scratch, Float.BYTES + size);
      score += parameters.hasWeights() ? elements.getFloat(inputs[2], i) * hash : hash;
    }
    return score > 0 ? 1 : 0;
  }
}
