// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** One run of a program in one frame, by the calling thread. */
final class GraphExecution {
  private final GraphProgram program;
  private final Subgraph graph;
  private final Frame frame;
  private final RequestArguments arguments;
  private final ExecutionConfig config;
  private final long startNanos;
  private final Shape[] shapes;
  private final MemorySegment[] values;

  GraphExecution(
      GraphProgram program,
      Frame frame,
      RequestArguments arguments,
      ExecutionConfig config,
      long startNanos) {
    this.program = program;
    this.graph = program.graph();
    this.frame = frame;
    this.arguments = arguments;
    this.config = config;
    this.startNanos = startNanos;
    this.shapes = program.shapes().clone();
    this.values = frame.begin();
  }

  ExecutionResult run() {
    for (int i = 0; i < arguments.inputs().length; i++) {
      int operand = graph.inputIndexes().get(i);
      values[operand] = arguments.inputs()[i];
      shapes[operand] = arguments.inputShapes()[i];
    }
    if (program.isStatic() && !areOutputsSufficient()) {
      return new OutputInsufficientSize(outputShapes());
    }
    try (Arena late = Arena.ofConfined()) {
      Failed failure = runSteps(late);
      if (failure != null) {
        return failure;
      }
    }
    List<OutputShape> outputs = outputShapes();
    if (outputs.stream().anyMatch(output -> !output.isSufficient())) {
      return new OutputInsufficientSize(outputs);
    }
    return new Completed(
        outputs, config.measureTiming() ? FramedPreparedModel.since(startNanos) : Timing.NONE);
  }

  private Failed runSteps(Arena late) {
    for (int i = 0; i < program.steps().size(); i++) {
      Failed stopped = Checkpoint.pass(config);
      if (stopped != null) {
        return stopped;
      }
      GraphProgram.Step step = program.steps().get(i);
      try {
        step.checkPresent(values);
        if (step.kernel() == null) {
          step = step.bind(step.view(shapes, values), shapes);
        }
        runStep(i, step, late);
      } catch (ValidationException e) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, e.getMessage());
      } catch (KernelException e) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, step.place() + ": " + e.getMessage());
      }
    }
    return null;
  }

  private void runStep(int index, GraphProgram.Step step, Arena late) throws ValidationException {
    MemorySegment[] inputs = frame.inputs(index);
    for (int i = 0; i < inputs.length; i++) {
      MemorySegment value = values[step.operation().inputs().get(i)];
      inputs[i] = value == null ? MemorySegment.NULL : value;
    }
    MemorySegment scratch = frame.scratch();
    if (scratch.byteSize() < step.kernel().scratchSize()) {
      scratch = late.allocate(step.kernel().scratchSize(), MemoryPlan.ALIGNMENT);
    }
    if (step.isMeasured()) {
      step.accept(step.kernel().measure(inputs, scratch), shapes);
    }
    MemorySegment[] outputs = frame.outputs(index);
    for (int i = 0; i < outputs.length; i++) {
      int operand = step.operation().outputs().get(i);
      if (values[operand] == null) {
        values[operand] = room(operand, late);
      }
      outputs[i] = values[operand];
    }
    step.kernel().run(inputs, outputs, scratch);
  }

  /** The caller's memory where the value is an output and fits, else memory for this run. */
  private MemorySegment room(int operand, Arena late) {
    long size = size(operand);
    int output = graph.outputIndexes().indexOf(operand);
    if (output >= 0) {
      MemorySegment given = arguments.outputs()[output];
      if (given != null && given.byteSize() >= size) {
        return given.asSlice(0, size);
      }
    }
    return late.allocate(Math.max(1, size), MemoryPlan.ALIGNMENT).asSlice(0, size);
  }

  private long size(int operand) {
    Operand declared = graph.operands().get(operand);
    return declared.type().isTensor()
        ? shapes[operand].elementCount() * declared.type().elementSize()
        : declared.type().elementSize();
  }

  private boolean areOutputsSufficient() {
    for (int i = 0; i < arguments.outputs().length; i++) {
      if (!isSufficient(i)) {
        return false;
      }
    }
    return true;
  }

  private boolean isSufficient(int output) {
    MemorySegment given = arguments.outputs()[output];
    return given == null || given.byteSize() >= size(graph.outputIndexes().get(output));
  }

  private List<OutputShape> outputShapes() {
    List<OutputShape> outputs = new ArrayList<>(arguments.outputs().length);
    for (int i = 0; i < arguments.outputs().length; i++) {
      outputs.add(new OutputShape(shapes[graph.outputIndexes().get(i)], isSufficient(i)));
    }
    return outputs;
  }
}
