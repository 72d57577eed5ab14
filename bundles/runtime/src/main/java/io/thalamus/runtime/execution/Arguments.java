// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.MemoryDesc.Direction;
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
import io.thalamus.runtime.plan.TemporariesLayout;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The arguments of one execution: checked, copied into the pools, and copied back. Set by the
 * caller's thread, then used by the one that executes.
 *
 * <p>All inputs in plain memory stand in one pool, all such outputs in another:
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
      String place = place("input", i, graph.input(i));
      Argument argument = requireSet(place, inputs[i]);
      if (argument instanceof Argument.Made made) {
        requireRole(place, made, Direction.INPUT, i);
        inputShapes[i] = made.shape();
        continue;
      }
      inputShapes[i] = ArgumentCheck.combine(place, graph.input(i), argument.shape());
      if (argument.length() == 0) {
        continue;
      }
      checkRange(place, argument);
      ArgumentCheck.input(place, graph.input(i).with(inputShapes[i]), argument.length());
    }
    for (int i = 0; i < outputs.length; i++) {
      String place = place("output", i, graph.output(i));
      Argument argument = requireSet(place, outputs[i]);
      if (argument instanceof Argument.Made made) {
        requireRole(place, made, Direction.OUTPUT, i);
        requireOnce(place, made, i);
        outputShapes[i] = made.shape();
        continue;
      }
      outputShapes[i] = ArgumentCheck.combine(place, graph.output(i), argument.shape());
      if (argument.length() > 0) {
        checkRange(place, argument);
        checkWritable(place, argument);
        ArgumentCheck.output(place, graph.output(i).with(outputShapes[i]), argument.length());
      }
    }
  }

  private void requireRole(String place, Argument.Made made, Direction direction, int index)
      throws Mismatch {
    if (!made.memory().hasRole(host, direction, index)) {
      throw new Mismatch(
          "%s stands in memory '%s', which was not made for it: name the role when it is made"
              .formatted(place, made.memory().name()));
    }
  }

  /** What an execution writes, it neither reads nor writes a second time. */
  private void requireOnce(String place, Argument.Made made, int index) throws Mismatch {
    DomainMemory memory = made.memory();
    for (Argument input : inputs) {
      if (input instanceof Argument.Made other && other.memory() == memory) {
        throw new Mismatch(
            "%s stands in memory '%s', as an input does: use two memories in turn"
                .formatted(place, memory.name()));
      }
    }
    for (int i = 0; i < index; i++) {
      if (outputs[i] instanceof Argument.Made other && other.memory() == memory) {
        throw new Mismatch(
            "%s stands in memory '%s', as output %d does".formatted(place, memory.name(), i));
      }
    }
  }

  /** The memories made for arguments; null where there is none. */
  MemoryBindings memoryBindings() {
    MemoryBindings uses = null;
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] instanceof Argument.Made made) {
        uses = uses == null ? new MemoryBindings() : uses;
        inputUses = inputUses == null ? new MemoryBinding[inputs.length] : inputUses;
        inputUses[i] = uses.reading(made.memory());
      }
    }
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] instanceof Argument.Made made) {
        uses = uses == null ? new MemoryBindings() : uses;
        outputUses = outputUses == null ? new MemoryBinding[outputs.length] : outputUses;
        outputUses[i] = uses.writing(made.memory());
      }
    }
    return uses;
  }

  /** Checks what the memories hold, which is known once they are claimed. */
  void checkMemories() throws Mismatch {
    if (inputUses == null) {
      return;
    }
    for (int i = 0; i < inputs.length; i++) {
      if (inputUses[i] != null) {
        String place = place("input", i, graph.input(i));
        inputShapes[i] = ArgumentCheck.combine(place, graph.input(i), inputUses[i].shape());
        ArgumentCheck.input(place, graph.input(i).with(inputShapes[i]), inputUses[i].length());
      }
    }
  }

  /**
   * Lays out the pools of checked arguments.
   *
   * @param isGuarded whether a device may be given up while it still writes: then outputs do not
   *     stand in the caller's shared memory until they are complete
   */
  void layOut(boolean isGuarded) {
    stagesOutputs = isGuarded;
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
  }

  private boolean isInPool(Argument output) {
    return !(output instanceof Argument.Made)
        && (stagesOutputs || output instanceof Argument.Plain || output.length() == 0);
  }

  private static String place(String what, int index, Operand operand) {
    return what + " " + index + (operand.name().isEmpty() ? "" : " '" + operand.name() + "'");
  }

  private static Argument requireSet(String place, Argument argument) throws Mismatch {
    if (argument == null) {
      throw new Mismatch(place + " is not set");
    }
    return argument;
  }

  private static void checkRange(String place, Argument argument) throws Mismatch {
    if (argument instanceof Argument.Shared shared
        && (shared.offset() < 0
            || shared.length() < 0
            || shared.offset() > shared.memory().size() - shared.length())) {
      throw new Mismatch(
          "%s at offset %d with %d bytes is not inside its memory of %d bytes"
              .formatted(place, shared.offset(), shared.length(), shared.memory().size()));
    }
  }

  private static void checkWritable(String place, Argument argument) throws Mismatch {
    boolean isReadOnly =
        switch (argument) {
          case Argument.Plain plain -> plain.segment().isReadOnly();
          case Argument.Shared shared -> shared.memory().isReadOnly();
          case Argument.Made made -> false;
        };
    if (isReadOnly) {
      throw new Mismatch(place + " stands in read-only memory");
    }
  }

  /** The first output whose size is not known before it runs, or -1 where all are known. */
  int firstOpenOutput() {
    for (int i = 0; i < outputs.length; i++) {
      if (!graph.output(i).with(outputShapes[i]).isSizeKnown()) {
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
    Operand operand = graph.output(i).with(outputShapes[i]);
    return operand.isSizeKnown() ? operand.byteSize() : 0;
  }

  long inputBytes() {
    return inputBytes;
  }

  long outputBytes() {
    return outputBytes;
  }

  /** Keeps the caller's shared memories mapped; what was lent until a failure is added too. */
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

  void copyIn(Scratch scratch) throws Mismatch {
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] instanceof Argument.Plain plain && plain.length() > 0) {
        try {
          MemorySegment.copy(
              plain.segment(), 0, scratch.inputs().segment(), inputOffsets[i], plain.length());
        } catch (IllegalStateException | WrongThreadException e) {
          throw new Mismatch(place("input", i, graph.input(i)) + unreachable(e));
        }
      }
    }
  }

  void copyOut(Scratch scratch, Frame frame) throws Mismatch {
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i].length() > 0 && isInPool(outputs[i])) {
        long bytes = frame.get(graph.outputIndexes().get(i)).length();
        try {
          MemorySegment.copy(
              scratch.outputs().segment(), outputOffsets[i], bytesOf(outputs[i]), 0, bytes);
        } catch (IllegalStateException | WrongThreadException e) {
          throw new Mismatch(place("output", i, graph.output(i)) + unreachable(e));
        }
      }
    }
  }

  private static MemorySegment bytesOf(Argument argument) {
    return switch (argument) {
      case Argument.Plain plain -> plain.segment();
      case Argument.Shared shared ->
          shared.memory().segment().asSlice(shared.offset(), shared.length());
      case Argument.Made made -> throw new IllegalArgumentException("nothing to copy");
    };
  }

  private static String unreachable(RuntimeException e) {
    return e instanceof WrongThreadException
        ? " stands in memory of another thread: use a shared arena"
        : " stands in memory that is closed";
  }

  /** Says where inputs and outputs stand. */
  void fill(Frame frame, Scratch scratch) {
    for (int i = 0; i < inputs.length; i++) {
      Value value =
          switch (inputs[i]) {
            case Argument a when a.length() == 0 -> Value.OMITTED;
            case Argument.Shared shared -> lent(shared, inputShapes[i]);
            case Argument.Plain plain ->
                new Value(scratch.inputs(), inputOffsets[i], plain.length(), inputShapes[i]);
            case Argument.Made made -> made(inputUses[i]);
          };
      frame.set(graph.inputIndexes().get(i), value);
    }
    for (int i = 0; i < outputs.length; i++) {
      long room = room(i);
      Value value;
      if (outputs[i] instanceof Argument.Made) {
        value = made(outputUses[i]);
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

  /** The shapes that the outputs have after a success. */
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
