// SPDX-License-Identifier: Apache-2.0
package com.example.template;

import static com.example.template.Floats.FLOAT;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;

/** An operation that is taken in some of its forms: here, without broadcasting. */
final class Elementwise {
  private Elementwise() {}

  static void register(KernelTable.Builder table) {
    table.add(
        OperationCode.ADD, Elementwise::isPossible, Elementwise::add, OperandCode.TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown()
        && operation.input(0).shape().equals(operation.input(1).shape());
  }

  private static Kernel add(ResolvedOperation operation) {
    FloatRange range = operation.parameters(Plain.class).activation().range();
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        float sum = inputs[0].getAtIndex(FLOAT, i) + inputs[1].getAtIndex(FLOAT, i);
        outputs[0].setAtIndex(FLOAT, i, range.clamp(sum));
      }
    };
  }
}
