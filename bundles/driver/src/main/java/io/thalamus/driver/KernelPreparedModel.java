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
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** A program with the memory it runs in. */
final class KernelPreparedModel extends FramedPreparedModel<Frame> {
  private final GraphProgram program;
  private final Arena arena = Arena.ofShared();

  KernelPreparedModel(Model model, GraphProgram program, TableDevice device) {
    super(model, device);
    this.program = program;
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
  protected ExecutionResult run(
      Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    List<OutputShape> known = program.isStatic() ? outputs(arguments, program.shapes()) : null;
    if (known != null && !areSufficient(known)) {
      return new OutputInsufficientSize(known);
    }
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
    List<OutputShape> outputs = known != null ? known : outputs(arguments, execution.shapes());
    return areSufficient(outputs)
        ? new Completed(outputs, config.measureTiming() ? since(startNanos) : Timing.NONE)
        : new OutputInsufficientSize(outputs);
  }

  private static boolean areSufficient(List<OutputShape> outputs) {
    for (int i = 0; i < outputs.size(); i++) {
      if (!outputs.get(i).isSufficient()) {
        return false;
      }
    }
    return true;
  }

  private List<OutputShape> outputs(RequestArguments arguments, Shape[] shapes) {
    List<OutputShape> outputs = new ArrayList<>(arguments.outputs().length);
    for (int i = 0; i < arguments.outputs().length; i++) {
      Shape shape = shapes[program.graph().outputIndexes().get(i)];
      MemorySegment given = arguments.outputs()[i];
      boolean fits =
          given == null || given.byteSize() >= Frame.size(program.graph().output(i), shape);
      outputs.add(new OutputShape(shape, fits));
    }
    return outputs;
  }
}
