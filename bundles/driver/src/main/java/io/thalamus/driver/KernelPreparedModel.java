// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.model.Model;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.lang.foreign.Arena;
import java.util.List;

/** A program with the memory it runs in. */
final class KernelPreparedModel extends FramedPreparedModel<Frame> {
  private final GraphProgram program;
  private final Arena arena = Arena.ofShared();
  private final List<Shape> shapes;

  KernelPreparedModel(Model model, GraphProgram program, TableDevice device) {
    super(model, device);
    this.program = program;
    this.shapes = program.isStatic() ? shapes(program.shapes()) : null;
  }

  @Override
  protected Frame newFrame() {
    return new Frame(program, arena);
  }

  @Override
  protected void release() {
    arena.close();
  }

  @Override
  protected List<Shape> outputShapes() {
    return shapes;
  }

  @Override
  protected ExecutionResult run(
      Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    GraphExecution execution = new GraphExecution(program, frame, config);
    for (int i = 0; i < arguments.inputs().length; i++) {
      execution.give(i, arguments.inputs()[i], arguments.inputShapes()[i]);
    }
    for (int i = 0; i < arguments.outputs().length; i++) {
      execution.offer(i, arguments.outputs()[i]);
    }
    try (DynamicMemory late = new DynamicMemory()) {
      Failed failure = execution.run(late);
      if (failure != null) {
        return failure;
      }
    } catch (StoppedException e) {
      return e.failed();
    }
    Timing timing = config.measureTiming() ? since(startNanos) : Timing.NONE;
    if (shapes != null) {
      return arguments.completed(timing, 0, 0);
    }
    List<OutputShape> outputs = arguments.results(graph(), shapes(execution.shapes()));
    return outputs.stream().allMatch(OutputShape::isSufficient)
        ? new Completed(outputs, timing)
        : new OutputInsufficientSize(outputs);
  }

  private List<Shape> shapes(Shape[] byOperand) {
    return graph().outputIndexes().stream().map(output -> byOperand[output]).toList();
  }
}
