// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.lang.foreign.MemorySegment;

/** The memory of one run and the arrays that kernels are called with. Used by one run at a time. */
final class Frame {
  private final MemorySegment scratch;
  private final MemorySegment[] temporaries;
  private final MemorySegment[] values;
  private final MemorySegment[][] inputs;
  private final MemorySegment[][] outputs;

  Frame(GraphProgram program, MemorySegment block) {
    MemoryPlan plan = program.memory();
    int operands = program.shapes().length;
    temporaries = new MemorySegment[operands];
    for (int i = 0; i < operands; i++) {
      if (plan.offsets()[i] >= 0) {
        long size =
            program.shapes()[i].elementCount()
                * program.graph().operands().get(i).type().elementSize();
        temporaries[i] = block.asSlice(plan.offsets()[i], size);
      } else if (program.graph().operands().get(i).lifetime()
          instanceof io.thalamus.model.Lifetime.Constant constant) {
        temporaries[i] = constant.bytes();
      }
    }
    scratch = block.asSlice(plan.scratchOffset());
    values = new MemorySegment[operands];
    int steps = program.steps().size();
    inputs = new MemorySegment[steps][];
    outputs = new MemorySegment[steps][];
    for (int i = 0; i < steps; i++) {
      inputs[i] = new MemorySegment[program.steps().get(i).operation().inputs().size()];
      outputs[i] = new MemorySegment[program.steps().get(i).operation().outputs().size()];
    }
  }

  /** The values by operand, fresh for a run: constants and temporaries; the rest is null. */
  MemorySegment[] begin() {
    System.arraycopy(temporaries, 0, values, 0, values.length);
    return values;
  }

  /** Scratch memory for bound kernels. */
  MemorySegment scratch() {
    return scratch;
  }

  MemorySegment[] inputs(int step) {
    return inputs[step];
  }

  MemorySegment[] outputs(int step) {
    return outputs[step];
  }
}
