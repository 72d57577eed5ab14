// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * One run of a program in one frame, by the calling thread: of the main graph, or of one that IF or
 * WHILE executes.
 */
final class GraphExecution {
  private final GraphProgram program;
  private final Subgraph graph;
  private final Frame frame;
  private final ExecutionConfig config;
  private final WorkMeter work;
  private final Shape[] shapes;
  private final MemorySegment[] values;
  private final MemorySegment[] offered;

  GraphExecution(GraphProgram program, Frame frame, ExecutionConfig config) {
    this(program, frame, config, new WorkMeter(config));
  }

  /** A run inside another one, whose work is counted with it. */
  private GraphExecution(
      GraphProgram program, Frame frame, ExecutionConfig config, WorkMeter work) {
    this.program = program;
    this.graph = program.graph();
    this.frame = frame;
    this.config = config;
    this.work = work;
    this.shapes = program.shapes().clone();
    this.values = frame.begin();
    this.offered = new MemorySegment[graph.outputIndexes().size()];
  }

  /** Gives an input of the graph; {@link MemorySegment#NULL} leaves it out. */
  void give(int input, MemorySegment value, Shape shape) {
    int operand = graph.inputIndexes().get(input);
    values[operand] = value;
    shapes[operand] = shape;
  }

  /** Offers room for an output of the graph, which is used where it suffices; null for none. */
  void offer(int output, MemorySegment room) {
    offered[output] = room;
  }

  /** The shapes by operand, all known after a run. Not to be changed. */
  Shape[] shapes() {
    return shapes;
  }

  /** The shape of an output of the graph, after a run. */
  Shape shape(int output) {
    return shapes[graph.outputIndexes().get(output)];
  }

  /** An output of the graph, after a run: in the room that was offered, or in late memory. */
  MemorySegment value(int output) {
    return values[graph.outputIndexes().get(output)];
  }

  /**
   * Runs all steps.
   *
   * @param late for values of open size; what {@link #value} gives may stand there
   * @return null where the outputs are computed, else what the execution ends with
   */
  Failed run(DynamicMemory late) {
    for (int i = 0; i < program.steps().size(); i++) {
      Failed stopped = Checkpoint.pass(config);
      if (stopped != null) {
        return stopped;
      }
      Step step = program.steps().get(i);
      try {
        Failed failed =
            switch (step) {
              case KernelStep kernel -> {
                runKernel(i, kernel, late);
                yield null;
              }
              case ControlFlowStep flow ->
                  flow.isLoop() ? loop(i, flow, late) : branch(i, flow, late);
            };
        if (failed != null) {
          return failed;
        }
      } catch (ValidationException e) {
        return failed(e.getMessage());
      } catch (KernelException e) {
        return failed(step.place() + ": " + e.getMessage());
      } catch (ArithmeticException e) {
        return failed(step.place() + ": a result is larger than can be counted");
      }
    }
    return null;
  }

  private static Failed failed(String message) {
    return new Failed(ErrorStatus.GENERAL_FAILURE, message);
  }

  private void runKernel(int index, KernelStep step, DynamicMemory late)
      throws ValidationException {
    step.checkPresent(values);
    KernelStep bound = step.kernel() == null ? step.bind(step.view(shapes, values), shapes) : step;
    MemorySegment[] inputs = frame.inputs(index);
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = value(step, i);
    }
    MemorySegment scratch = frame.scratch();
    if (scratch.byteSize() < bound.kernel().scratchSize()) {
      scratch = late.allocate(bound.kernel().scratchSize());
    }
    if (bound.isMeasured()) {
      bound.accept(bound.kernel().measure(inputs, scratch, work), shapes);
    }
    MemorySegment[] outputs = frame.outputs(index);
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = room(step.operation().outputs().get(i), late);
    }
    bound.kernel().run(inputs, outputs, scratch, work);
  }

  private MemorySegment value(Step step, int input) {
    MemorySegment value = values[step.operation().inputs().get(input)];
    return value == null ? MemorySegment.NULL : value;
  }

  /** The place of a value whose shape is known by now. */
  private MemorySegment room(int operand, DynamicMemory late) {
    if (values[operand] == null) {
      long size = Frame.size(graph.operands().get(operand), shapes[operand]);
      MemorySegment given = offered(operand);
      values[operand] =
          given != null && given.byteSize() >= size ? given.asSlice(0, size) : late.allocate(size);
    }
    return values[operand];
  }

  private MemorySegment offered(int operand) {
    int output = graph.outputIndexes().indexOf(operand);
    return output < 0 ? null : offered[output];
  }

  /** IF: the graph that is chosen writes where the IF itself does. */
  private Failed branch(int index, ControlFlowStep step, DynamicMemory late)
      throws ValidationException {
    MemorySegment condition = value(step, ControlFlow.IF_CONDITION);
    if (condition == MemorySegment.NULL) {
      return failed(step.place() + ": its condition is left out");
    }
    int choice = isTrue(condition) ? ControlFlowStep.THEN : ControlFlowStep.ELSE;
    GraphExecution inner = inner(index, step, choice);
    List<Integer> arguments = ControlFlow.arguments(step.operation());
    for (int i = 0; i < arguments.size(); i++) {
      inner.giveChecked(step, i, argument(arguments.get(i)), shapes[arguments.get(i)]);
    }
    List<Integer> outputs = step.operation().outputs();
    for (int i = 0; i < outputs.size(); i++) {
      MemorySegment place = values[outputs.get(i)];
      inner.offer(i, place == null ? offered(outputs.get(i)) : place);
    }
    Failed failed = inner.run(late);
    if (failed != null) {
      return inside(step, failed);
    }
    List<Shape> computed = new ArrayList<>(outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      computed.add(inner.shape(i));
      values[outputs.get(i)] = inner.value(i);
    }
    step.accept(computed, shapes);
    return null;
  }

  /**
   * WHILE: each round reads the state that the one before wrote, and writes to the other of two
   * places; values of open size get memory that is given back one round later.
   */
  private Failed loop(int index, ControlFlowStep step, DynamicMemory late)
      throws ValidationException {
    long start = config.nanoTime();
    List<Integer> arguments = ControlFlow.arguments(step.operation());
    MemorySegment[] state = new MemorySegment[arguments.size()];
    Shape[] stateShapes = new Shape[state.length];
    for (int i = 0; i < state.length; i++) {
      state[i] = argument(arguments.get(i));
      stateShapes[i] = shapes[arguments.get(i)];
    }
    DynamicMemory current = new DynamicMemory();
    DynamicMemory next = new DynamicMemory();
    try {
      for (long round = 0; ; round++) {
        GraphExecution condition = inner(index, step, ControlFlowStep.CONDITION);
        condition.giveAll(step, state, stateShapes);
        boolean goesOn;
        try (DynamicMemory brief = new DynamicMemory()) {
          Failed failed = condition.run(brief);
          if (failed != null) {
            return inside(step, failed);
          }
          goesOn = isTrue(condition.value(0));
        }
        if (!goesOn) {
          break;
        }
        if (config.isLoopOverdue(start)) {
          return new Failed(
              ErrorStatus.MISSED_DEADLINE_TRANSIENT,
              "%s still loops after %d ms"
                  .formatted(step.place(), config.loopTimeout().toMillis()));
        }
        GraphExecution body = inner(index, step, ControlFlowStep.BODY);
        body.giveAll(step, state, stateShapes);
        MemorySegment[] room = frame.state(index, round);
        for (int i = 0; i < room.length; i++) {
          body.offer(i, room[i]);
        }
        Failed failed = body.run(next);
        if (failed != null) {
          return inside(step, failed);
        }
        for (int i = 0; i < room.length; i++) {
          state[i] = body.value(i);
          stateShapes[i] = body.shape(i);
        }
        current.close();
        DynamicMemory free = current;
        current = next;
        next = free;
      }
      return copyOut(step, state, stateShapes, late);
    } finally {
      current.close();
      next.close();
    }
  }

  private Failed copyOut(
      ControlFlowStep step, MemorySegment[] state, Shape[] stateShapes, DynamicMemory late)
      throws ValidationException {
    List<Integer> outputs = step.operation().outputs();
    step.accept(List.of(stateShapes).subList(0, outputs.size()), shapes);
    for (int i = 0; i < outputs.size(); i++) {
      if (state[i] == MemorySegment.NULL) {
        return failed(step.place() + ": the value of output " + i + " is left out");
      }
      MemorySegment.copy(state[i], 0, room(outputs.get(i), late), 0, state[i].byteSize());
    }
    return null;
  }

  private GraphExecution inner(int index, ControlFlowStep step, int which) {
    return new GraphExecution(step.programs().get(which), frame.inner(index, which), config, work);
  }

  private MemorySegment argument(int operand) {
    return values[operand] == null ? MemorySegment.NULL : values[operand];
  }

  private void giveAll(Step outer, MemorySegment[] state, Shape[] stateShapes)
      throws ValidationException {
    for (int i = 0; i < state.length; i++) {
      giveChecked(outer, i, state[i], stateShapes[i]);
    }
  }

  /** Gives an input whose shape may be another one than this graph declares. */
  private void giveChecked(Step outer, int input, MemorySegment value, Shape shape)
      throws ValidationException {
    Operand declared = graph.input(input);
    if (value == MemorySegment.NULL) {
      give(input, value, declared.shape());
      return;
    }
    if (!Step.isDeclared(declared.shape(), shape)) {
      throw new ValidationException(
          "%s: input %d of its graph is declared as %s, but is %s"
              .formatted(outer.place(), input, declared.shape(), shape));
    }
    give(input, value, shape);
  }

  private static boolean isTrue(MemorySegment condition) {
    return condition.get(ValueLayout.JAVA_BYTE, 0) != 0;
  }

  private static Failed inside(Step outer, Failed failed) {
    return new Failed(failed.status(), outer.place() + ": " + failed.message());
  }
}
