// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.hal.Request;
import io.thalamus.memory.Leases;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBinding;
import io.thalamus.runtime.domain.MemoryBindings;
import io.thalamus.runtime.domain.RoleHost;
import io.thalamus.runtime.execution.ArgumentCheck.Mismatch;
import io.thalamus.runtime.execution.ArgumentCheck.Place;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.TemporariesLayout;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The arguments of one execution: checked, given their places, and copied where they cannot be used
 * in place. Set by the caller's thread, then used by the one that executes.
 *
 * <p>A segment of the caller is read or written in place ({@link CallerPool}) when a device of the
 * plan takes pointers, and the executing thread can access the segment, which is off the heap and
 * aligned, overlaps no other argument that is written, and is not mapped from a file: pages of a
 * file can disappear under a device, which would get the blame. Any other segment is copied. Copies
 * of inputs are in one pool, those of outputs in another, where each argument has its room:
 *
 * <pre>
 *   | input 0 | pad to 64 | input 1 | pad to 64 | ...
 * </pre>
 */
final class Arguments {
  private final RoleHost host;
  private final Subgraph graph;
  private final Argument[] inputs;
  private final Argument[] outputs;
  private final Shape[] inputShapes;
  private final Shape[] outputShapes;
  private final long[] inputOffsets;
  private final long[] outputOffsets;
  private long inputBytes;
  private long outputBytes;
  private boolean stagesOutputs;
  private boolean copiesInputs;
  private boolean copiesOutputs;

  /** Null where an argument is not used in place. */
  private final CallerPool[] inputPools;

  private final CallerPool[] outputPools;

  /** Null where no argument is a memory made for it. */
  private MemoryBinding[] inputUses;

  private MemoryBinding[] outputUses;

  Arguments(RoleHost host) {
    this.host = host;
    this.graph = host.model().main();
    int inputCount = graph.inputIndexes().size();
    int outputCount = graph.outputIndexes().size();
    this.inputs = new Argument[inputCount];
    this.outputs = new Argument[outputCount];
    this.inputShapes = new Shape[inputCount];
    this.outputShapes = new Shape[outputCount];
    this.inputOffsets = new long[inputCount];
    this.outputOffsets = new long[outputCount];
    this.inputPools = new CallerPool[inputCount];
    this.outputPools = new CallerPool[outputCount];
  }

  void setInput(int index, Argument argument) {
    checkIndex("input", index, inputs.length);
    inputs[index] = argument;
  }

  void setOutput(int index, Argument argument) {
    checkIndex("output", index, outputs.length);
    outputs[index] = argument;
  }

  private static void checkIndex(String what, int index, int count) {
    if (index < 0 || index >= count) {
      throw new IllegalArgumentException(
          "there is no " + what + " " + index + ": the model has " + count);
    }
  }

  /** Checks all arguments. */
  void check() throws Mismatch {
    for (int i = 0; i < inputs.length; i++) {
      Place place = input(i);
      Argument argument = requireSet(place, inputs[i]);
      if (argument instanceof Argument.Device made) {
        requireRole(place, made, Direction.INPUT, i);
        inputShapes[i] = made.shape();
        continue;
      }
      inputShapes[i] = ArgumentCheck.combine(place, graph.input(i), argument.shape());
      if (argument.length() == 0) {
        continue;
      }
      checkRange(place, argument);
      ArgumentCheck.input(place, inputOperand(i), argument.length());
    }
    for (int i = 0; i < outputs.length; i++) {
      Place place = output(i);
      Argument argument = requireSet(place, outputs[i]);
      if (argument instanceof Argument.Device made) {
        requireRole(place, made, Direction.OUTPUT, i);
        requireOnce(place, made, i);
        outputShapes[i] = made.shape();
        continue;
      }
      outputShapes[i] = ArgumentCheck.combine(place, graph.output(i), argument.shape());
      if (argument.length() > 0) {
        checkRange(place, argument);
        checkWritable(place, argument);
        ArgumentCheck.output(place, outputOperand(i), argument.length());
      }
    }
  }

  private void requireRole(Place place, Argument.Device made, Direction direction, int index)
      throws Mismatch {
    if (!made.memory().hasRole(host, direction, index)) {
      throw new Mismatch(
          "%s stands in memory '%s', which was not made for it: name the role when it is made"
              .formatted(place, made.memory().name()));
    }
  }

  /** Checks that no other argument of the execution is in the memory of an output. */
  private void requireOnce(Place place, Argument.Device made, int index) throws Mismatch {
    DomainMemory memory = made.memory();
    for (Argument input : inputs) {
      if (input instanceof Argument.Device other && other.memory() == memory) {
        throw new Mismatch(
            "%s stands in memory '%s', as an input does: use two memories in turn"
                .formatted(place, memory.name()));
      }
    }
    for (int i = 0; i < index; i++) {
      if (outputs[i] instanceof Argument.Device other && other.memory() == memory) {
        throw new Mismatch(
            "%s stands in memory '%s', as output %d does".formatted(place, memory.name(), i));
      }
    }
  }

  /** Returns the memories made for arguments; null if there are none. */
  MemoryBindings memoryBindings() {
    MemoryBindings uses = null;
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] instanceof Argument.Device made) {
        uses = uses == null ? new MemoryBindings() : uses;
        inputUses = inputUses == null ? new MemoryBinding[inputs.length] : inputUses;
        inputUses[i] = uses.reading(made.memory());
      }
    }
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] instanceof Argument.Device made) {
        uses = uses == null ? new MemoryBindings() : uses;
        outputUses = outputUses == null ? new MemoryBinding[outputs.length] : outputUses;
        outputUses[i] = uses.writing(made.memory());
      }
    }
    return uses;
  }

  /** Checks the contents of the memories, which are known once they are claimed. */
  void checkMemories() throws Mismatch {
    if (inputUses == null) {
      return;
    }
    for (int i = 0; i < inputs.length; i++) {
      if (inputUses[i] != null) {
        Place place = input(i);
        inputShapes[i] = ArgumentCheck.combine(place, graph.input(i), inputUses[i].shape());
        ArgumentCheck.input(place, inputOperand(i), inputUses[i].length());
      }
    }
  }

  /**
   * Gives checked arguments their places, and copies the inputs that are not used in place. Outputs
   * are in the caller's shared memory only when no device of the plan may be given up while it
   * still writes.
   *
   * @throws Mismatch if an input cannot be read
   */
  void layOut(PreparedPlan plan, Scratch scratch, CopyCount copies) throws Mismatch {
    stagesOutputs = plan.isGuarded();
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] instanceof Argument.Plain plain) {
        inputOffsets[i] = inputBytes;
        inputBytes += TemporariesLayout.align(plain.length());
      }
    }
    for (int i = 0; i < outputs.length; i++) {
      if (isInPool(outputs[i])) {
        outputOffsets[i] = outputBytes;
        outputBytes += TemporariesLayout.align(room(i));
      }
    }
    boolean hasPointers = plan.takesPointers();
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] instanceof Argument.Plain plain && plain.length() > 0) {
        if (hasPointers && isUsable(plain, graph.input(i)) && !isWritten(plain)) {
          inputPools[i] =
              new CallerPool(
                  input(i),
                  plain.segment().asReadOnly(),
                  scratch.inputs(),
                  inputOffsets[i],
                  inputBytes,
                  copies);
        } else {
          copiesInputs = true;
        }
      }
    }
    for (int i = 0; i < outputs.length; i++) {
      if (isInPool(outputs[i])) {
        if (hasPointers
            && outputs[i] instanceof Argument.Plain plain
            && plain.length() > 0
            && isUsable(plain, graph.output(i))
            && !isOverlapped(i, plain)) {
          outputPools[i] =
              new CallerPool(
                  output(i),
                  plain.segment(),
                  scratch.outputs(),
                  outputOffsets[i],
                  outputBytes,
                  copies);
        } else {
          copiesOutputs = true;
        }
      }
    }
    scratch.outputs().reserve(copiesOutputs ? outputBytes : 0);
    scratch.temporaries().reserve(plan.layout().size());
    if (copiesInputs) {
      scratch.inputs().reserve(inputBytes);
      copyIn(scratch, copies);
    }
  }

  private static boolean isUsable(Argument.Plain plain, Operand operand) {
    MemorySegment segment = plain.segment();
    return Request.Pointer.suits(segment, operand.type())
        && !segment.isMapped()
        && segment.isAccessibleBy(Thread.currentThread())
        && segment.scope().isAlive();
  }

  /** Returns whether a step may write to an input: an output is in shared memory there. */
  private boolean isWritten(Argument.Plain input) {
    for (Argument output : outputs) {
      if (output instanceof Argument.Shared && overlaps(input, output)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether an output shares bytes with any other argument. */
  private boolean isOverlapped(int index, Argument.Plain output) {
    for (int i = 0; i < outputs.length; i++) {
      if (i != index && overlaps(output, outputs[i])) {
        return true;
      }
    }
    for (Argument input : inputs) {
      if (overlaps(output, input)) {
        return true;
      }
    }
    return false;
  }

  private static boolean overlaps(Argument.Plain argument, Argument other) {
    long start =
        switch (other) {
          case Argument.Plain plain when plain.segment().isNative() -> plain.segment().address();
          case Argument.Shared shared -> shared.memory().segment().address() + shared.offset();
          case Argument.Plain _, Argument.Device _ -> -1;
        };
    long own = argument.segment().address();
    return start >= 0 && start < own + argument.length() && own < start + other.length();
  }

  private boolean isInPool(Argument output) {
    return !(output instanceof Argument.Device)
        && (stagesOutputs || output instanceof Argument.Plain || output.length() == 0);
  }

  private Place input(int i) {
    return new Place("input", i, graph.input(i));
  }

  private Place output(int i) {
    return new Place("output", i, graph.output(i));
  }

  /** Returns the operand of an input with the dimensions that are known by now. */
  private Operand inputOperand(int i) {
    return with(graph.input(i), inputShapes[i]);
  }

  /** Returns the operand of an output with the dimensions that are known by now. */
  private Operand outputOperand(int i) {
    return with(graph.output(i), outputShapes[i]);
  }

  private static Operand with(Operand operand, Shape shape) {
    return operand.shape() == shape ? operand : operand.with(shape);
  }

  private static Argument requireSet(Place place, Argument argument) throws Mismatch {
    if (argument == null) {
      throw new Mismatch(place + " is not set");
    }
    return argument;
  }

  private static void checkRange(Place place, Argument argument) throws Mismatch {
    if (argument instanceof Argument.Shared shared
        && (shared.offset() < 0
            || shared.length() < 0
            || shared.offset() > shared.memory().size() - shared.length())) {
      throw new Mismatch(
          "%s at offset %d with %d bytes is not inside its memory of %d bytes"
              .formatted(place, shared.offset(), shared.length(), shared.memory().size()));
    }
  }

  private static void checkWritable(Place place, Argument argument) throws Mismatch {
    boolean isReadOnly =
        switch (argument) {
          case Argument.Plain plain -> plain.segment().isReadOnly();
          case Argument.Shared shared -> shared.memory().isReadOnly();
          case Argument.Device made -> false;
        };
    if (isReadOnly) {
      throw new Mismatch(place + " stands in read-only memory");
    }
  }

  /** The first output whose size is not known before it runs, or -1 where all are known. */
  int firstOpenOutput() {
    for (int i = 0; i < outputs.length; i++) {
      if (!outputOperand(i).isSizeKnown()) {
        return i;
      }
    }
    return -1;
  }

  /** The bytes that output {@code i} needs in the pool. An ignored one is computed all the same. */
  private long room(int i) {
    long given = outputs[i].length();
    if (given > 0) {
      return given;
    }
    Operand operand = outputOperand(i);
    return operand.isSizeKnown() ? operand.byteSize() : 0;
  }

  /** Keeps the caller's shared memories mapped; the leases until a failure are added too. */
  void lend(Leases leases) throws Mismatch {
    for (Argument[] side : new Argument[][] {inputs, outputs}) {
      for (Argument argument : side) {
        if (argument instanceof Argument.Shared shared && shared.length() > 0) {
          try {
            leases.add(shared.memory());
          } catch (IllegalStateException e) {
            throw new Mismatch("an argument stands in shared memory that is closed");
          }
        }
      }
    }
  }

  private void copyIn(Scratch scratch, CopyCount copies) throws Mismatch {
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] instanceof Argument.Plain plain
          && plain.length() > 0
          && inputPools[i] == null) {
        copies.argumentsIn += plain.length();
        try {
          MemorySegment.copy(
              plain.segment(), 0, scratch.inputs().segment(), inputOffsets[i], plain.length());
        } catch (IllegalStateException | WrongThreadException e) {
          throw new Mismatch(input(i) + unreachable(e));
        }
      }
    }
  }

  /** Copies complete outputs to the caller's memory, unless they were written in place. */
  void copyOut(Scratch scratch, Frame frame, CopyCount copies) throws Mismatch {
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i].length() > 0
          && isInPool(outputs[i])
          && (outputPools[i] == null || outputPools[i].isStaged())) {
        long bytes = frame.get(graph.outputIndexes().get(i)).length();
        copies.argumentsOut += bytes;
        try {
          MemorySegment.copy(
              scratch.outputs().segment(), outputOffsets[i], bytesOf(outputs[i]), 0, bytes);
        } catch (IllegalStateException | WrongThreadException e) {
          throw new Mismatch(output(i) + unreachable(e));
        }
      }
    }
  }

  private static MemorySegment bytesOf(Argument argument) {
    return switch (argument) {
      case Argument.Plain plain -> plain.segment();
      case Argument.Shared shared ->
          shared.memory().segment().asSlice(shared.offset(), shared.length());
      case Argument.Device made -> throw new IllegalArgumentException("nothing to copy");
    };
  }

  private static String unreachable(RuntimeException e) {
    return e instanceof WrongThreadException
        ? " stands in memory of another thread: use a shared arena"
        : " stands in memory that is closed";
  }

  /** Sets the places of inputs and outputs. */
  void fill(Frame frame, Scratch scratch) {
    for (int i = 0; i < inputs.length; i++) {
      Value value =
          switch (inputs[i]) {
            case Argument a when a.length() == 0 -> Value.OMITTED;
            case Argument.Shared shared -> lent(shared, inputShapes[i]);
            case Argument.Plain plain ->
                inputPools[i] != null
                    ? new Value(inputPools[i], 0, plain.length(), inputShapes[i])
                    : new Value(scratch.inputs(), inputOffsets[i], plain.length(), inputShapes[i]);
            case Argument.Device made -> made(inputUses[i]);
          };
      frame.set(graph.inputIndexes().get(i), value);
    }
    for (int i = 0; i < outputs.length; i++) {
      long room = room(i);
      Value value;
      if (outputs[i] instanceof Argument.Device) {
        value = made(outputUses[i]);
      } else if (outputPools[i] != null) {
        value = new Value(outputPools[i], 0, room, outputShapes[i]);
      } else if (room == 0) {
        value = Value.OMITTED;
      } else if (!isInPool(outputs[i]) && outputs[i] instanceof Argument.Shared shared) {
        value = lent(shared, outputShapes[i]);
      } else {
        value = new Value(scratch.outputs(), outputOffsets[i], room, outputShapes[i]);
      }
      frame.set(graph.outputIndexes().get(i), value);
    }
  }

  private static Value made(MemoryBinding use) {
    return new Value(new Pool(use), 0, use.length(), use.shape());
  }

  private static Value lent(Argument.Shared shared, Shape shape) {
    return new Value(new Pool(shared.memory()), shared.offset(), shared.length(), shape);
  }

  /** Returns the shapes that the outputs have after a success. */
  List<OutputShape> outputShapes(Frame frame) {
    List<OutputShape> shapes = new ArrayList<>(outputs.length);
    for (int i = 0; i < outputs.length; i++) {
      Operand operand = graph.output(i);
      Value value = frame.get(graph.outputIndexes().get(i));
      boolean isFixed = operand.isSizeKnown() || value.isOmitted();
      shapes.add(new OutputShape(isFixed ? operand.shape() : value.shape(), true));
    }
    return shapes;
  }
}
