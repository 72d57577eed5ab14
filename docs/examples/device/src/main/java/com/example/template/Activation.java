// SPDX-License-Identifier: Apache-2.0
package com.example.template;

import static com.example.template.Floats.FLOAT;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ResolvedOperation;

/** An operation that is taken in all its forms. */
final class Activation {
  private Activation() {}

  static void register(KernelTable.Builder table) {
    table.add(OperationCode.RELU, Activation::relu, OperandCode.TENSOR_FLOAT32);
  }

  /** Reads here, once, all that can be known beforehand; the kernel only computes. */
  private static Kernel relu(ResolvedOperation operation) {
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        outputs[0].setAtIndex(FLOAT, i, Math.max(0, inputs[0].getAtIndex(FLOAT, i)));
      }
    };
  }
}
