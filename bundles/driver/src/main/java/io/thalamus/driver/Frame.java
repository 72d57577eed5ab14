// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/**
 * The memory of one run and the arrays that kernels are called with. Used by one run at a time.
 * Frames of graphs that IF and WHILE execute are made when they are first needed.
 */
final class Frame {
  private final GraphProgram program;
  private final SegmentAllocator memory;
  private final MemorySegment scratch;
  private final MemorySegment[] temporaries;
  private final MemorySegment[] values;
  private final MemorySegment[][] inputs;
  private final MemorySegment[][] outputs;
  private final Frame[][] inner;
  private final MemorySegment[][][] states;

  /** A frame that stands in memory that outlives it. */
  Frame(GraphProgram program, SegmentAllocator memory) {
    this.program = program;
    this.memory = memory;
    MemoryPlan plan = program.memory();
    MemorySegment block = NativeMemory.allocate(memory, plan.size());
    int operands = program.shapes().length;
    temporaries = new MemorySegment[operands];
    for (int i = 0; i < operands; i++) {
      Operand operand = program.graph().operands().get(i);
      if (plan.offsets()[i] >= 0) {
        temporaries[i] = block.asSlice(plan.offsets()[i], size(operand, program.shapes()[i]));
      } else if (operand.lifetime() instanceof Lifetime.Constant constant) {
        temporaries[i] = constant.bytes();
      }
    }
    scratch = block.asSlice(plan.scratchOffset());
    values = new MemorySegment[operands];
    int steps = program.steps().size();
    inputs = new MemorySegment[steps][];
    outputs = new MemorySegment[steps][];
    inner = new Frame[steps][];
    states = new MemorySegment[steps][][];
    for (int i = 0; i < steps; i++) {
      Step step = program.steps().get(i);
      inputs[i] = new MemorySegment[step.operation().inputs().size()];
      outputs[i] = new MemorySegment[step.operation().outputs().size()];
      inner[i] = new Frame[step.programs().size()];
    }
  }

  /** The bytes of a value of this shape. */
  static long size(Operand operand, Shape shape) {
    return operand.type().isTensor()
        ? Math.multiplyExact(shape.elementCount(), operand.type().elementSize())
        : operand.type().elementSize();
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

  /** The frame for one of the programs of a step. */
  Frame inner(int step, int which) {
    if (inner[step][which] == null) {
      inner[step][which] = new Frame(program.steps().get(step).programs().get(which), memory);
    }
    return inner[step][which];
  }

  /**
   * The room for what the body of a loop gives in a round: two places, which rounds use in turn, so
   * that one reads what the one before wrote. By output of the body; null where its size is open.
   */
  MemorySegment[] state(int step, long round) {
    if (states[step] == null) {
      GraphProgram body = program.steps().get(step).programs().get(ControlFlowStep.BODY);
      states[step] = new MemorySegment[][] {room(body), room(body)};
    }
    return states[step][(int) (round % 2)];
  }

  private MemorySegment[] room(GraphProgram body) {
    MemorySegment[] room = new MemorySegment[body.graph().outputIndexes().size()];
    for (int i = 0; i < room.length; i++) {
      Shape shape = body.outputShape(i);
      if (shape != null) {
        long size = size(body.graph().output(i), shape);
        room[i] = NativeMemory.allocate(memory, size);
      }
    }
    return room;
  }
}
