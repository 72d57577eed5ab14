// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.Request;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.domain.DomainMemory;
import io.thalamus.runtime.domain.MemoryBindings;
import io.thalamus.runtime.domain.RoleHost;
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
  private final Slot[] inputs;
  private final Slot[] outputs;

  /** The inputs, then the outputs. */
  private final Slot[] all;

  private boolean stagesOutputs;

  /** The shapes of the outputs if the model states all; null until they are asked for. */
  private List<OutputShape> fixedShapes;

  /**
   * Arguments as the caller gave them.
   *
   * @param given the inputs, then the outputs; null where one is not set
   */
  Arguments(RoleHost host, Argument[] given) {
    this.host = host;
    this.graph = host.model().main();
    this.inputs = new Slot[graph.inputIndexes().size()];
    this.outputs = new Slot[given.length - inputs.length];
    this.all = new Slot[given.length];
    for (int i = 0; i < all.length; i++) {
      int output = i - inputs.length;
      if (output < 0) {
        all[i] = inputs[i] = new Slot(Direction.INPUT, i, graph.input(i));
      } else {
        all[i] = outputs[output] = new Slot(Direction.OUTPUT, output, graph.output(output));
      }
      all[i].argument = given[i];
    }
  }

  /** Returns whether others are the same, so that all which was found out of these is true. */
  boolean isSame(Argument[] given) {
    for (int i = 0; i < all.length; i++) {
      if (all[i].argument != given[i] && !isSame(all[i].argument, given[i])) {
        return false;
      }
    }
    return true;
  }

  private static boolean isSame(Argument own, Argument given) {
    return own instanceof Argument.Shared one
        && given instanceof Argument.Shared other
        && one.memory() == other.memory()
        && one.offset() == other.offset()
        && one.length() == other.length()
        && one.shape().equals(other.shape());
  }

  /**
   * Returns whether the places are good for another execution too: no value of the caller's was
   * copied to its place, and none is in a memory made for it, whose contents move.
   */
  boolean areInPlace() {
    for (Slot slot : all) {
      boolean isInPlace =
          switch (slot.argument) {
            case Argument.Plain plain ->
                plain.length() == 0 || slot.pool != null && !slot.pool.isStaged();
            case Argument.Shared _ -> true;
            case Argument.Device _ -> false;
          };
      if (!isInPlace) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether this thread can still access the segments that are used in place. */
  boolean areInReach() {
    for (Slot slot : all) {
      if (slot.pool != null
          && slot.argument instanceof Argument.Plain plain
          && !Request.Pointer.isInReach(plain.segment())) {
        return false;
      }
    }
    return true;
  }

  /**
   * Checks all arguments.
   *
   * @throws NeuralNetworksException with BAD_DATA; the message names the argument and both sides
   */
  void check() throws NeuralNetworksException {
    for (Slot slot : all) {
      slot.check(host);
      if (!slot.isInput() && slot.argument instanceof Argument.Device made) {
        requireOnce(slot, made.memory());
      }
    }
  }

  /** Checks that no argument before an output is in the memory of that. */
  private void requireOnce(Slot output, DomainMemory memory) throws NeuralNetworksException {
    for (int i = 0; all[i] != output; i++) {
      if (all[i].argument instanceof Argument.Device other && other.memory() == memory) {
        throw output.refused(
            all[i].isInput()
                ? " stands in memory '%s', as an input does: use two memories in turn"
                    .formatted(memory.name())
                : " stands in memory '%s', as output %d does"
                    .formatted(memory.name(), i - inputs.length));
      }
    }
  }

  /** Returns the memories made for arguments; null if there are none. */
  MemoryBindings memoryBindings() {
    MemoryBindings bindings = null;
    for (Slot slot : all) {
      if (slot.argument instanceof Argument.Device made) {
        bindings = bindings == null ? new MemoryBindings() : bindings;
        slot.binding =
            slot.isInput() ? bindings.reading(made.memory()) : bindings.writing(made.memory());
      }
    }
    return bindings;
  }

  /** Checks the contents of the memories, which are known once they are claimed. */
  void checkMemories() throws NeuralNetworksException {
    for (Slot input : inputs) {
      if (input.binding != null) {
        input.checkContents();
      }
    }
  }

  /**
   * Gives checked arguments their places, and copies the inputs that are not used in place. Outputs
   * are in the caller's shared memory only when no device of the plan may be given up while it
   * still writes.
   *
   * @param byBurst whether the steps are sent to their devices, which needs memory that is shared
   * @throws NeuralNetworksException with BAD_DATA if an input cannot be read
   */
  void layOut(PreparedPlan plan, boolean byBurst, Scratch scratch, CopyCount copies)
      throws NeuralNetworksException {
    stagesOutputs = plan.isGuarded();
    boolean hasPointers = !byBurst && plan.takesPointers();
    for (Slot slot : all) {
      slot.pool = null;
      if (hasPointers) {
        slot.address = address(slot.argument);
        slot.end = slot.address + slot.argument.length();
      }
    }
    long copiedInputs = layOut(inputs, hasPointers, scratch.inputs(), copies);
    scratch.outputs().reserve(layOut(outputs, hasPointers, scratch.outputs(), copies));
    scratch.temporaries().reserve(plan.layout().size());
    scratch.inputs().reserve(copiedInputs);
    for (Slot input : inputs) {
      if (input.argument instanceof Argument.Plain plain
          && plain.length() > 0
          && input.pool == null) {
        copies.argumentsIn += plain.length();
        input.copy(plain.segment(), 0, scratch.inputs().segment(), input.offset, plain.length());
      }
    }
  }

  /** Gives one side its places, and returns the bytes to reserve: 0 if all are used in place. */
  private long layOut(Slot[] side, boolean hasPointers, Pool scratch, CopyCount copies) {
    long bytes = 0;
    for (Slot slot : side) {
      if (isInPool(slot)) {
        slot.offset = bytes;
        bytes += TemporariesLayout.align(slot.room());
      }
    }
    boolean isCopied = false;
    for (Slot slot : side) {
      if (hasPointers
          && slot.argument instanceof Argument.Plain plain
          && slot.suits(plain.segment())
          && !isOverlapped(slot)) {
        MemorySegment own = slot.isInput() ? plain.segment().asReadOnly() : plain.segment();
        slot.pool = new CallerPool(slot, own, scratch, slot.offset, bytes, copies);
      } else {
        isCopied |= isInPool(slot) && slot.room() > 0;
      }
    }
    return isCopied ? bytes : 0;
  }

  /**
   * Returns whether an argument cannot be used in place since it shares bytes with others: an input
   * with an output in shared memory, which a step may write, an output with any other argument.
   */
  private boolean isOverlapped(Slot slot) {
    for (Slot other : all) {
      if (other.address >= 0
          && other.address < slot.end
          && slot.address < other.end
          && other != slot
          && (!slot.isInput() || !other.isInput() && other.argument instanceof Argument.Shared)) {
        return true;
      }
    }
    return false;
  }

  /** Returns where an argument stands off the heap; -1 where it does not, or the device knows. */
  private static long address(Argument argument) {
    return switch (argument) {
      case Argument.Plain plain when plain.segment().isNative() -> plain.segment().address();
      case Argument.Shared shared -> shared.memory().segment().address() + shared.offset();
      case Argument.Plain _, Argument.Device _ -> -1;
    };
  }

  /** Returns whether an argument has room among the copies. */
  private boolean isInPool(Slot slot) {
    return switch (slot.argument) {
      case Argument.Plain _ -> true;
      case Argument.Shared shared -> !slot.isInput() && (stagesOutputs || shared.length() == 0);
      case Argument.Device _ -> false;
    };
  }

  /** Returns the first output whose size is not known before it runs; -1 where all are known. */
  int firstOpenOutput() {
    for (int i = 0; i < outputs.length; i++) {
      if (!outputs[i].operand().isSizeKnown()) {
        return i;
      }
    }
    return -1;
  }

  /** Keeps the caller's shared memories mapped; the leases until a failure are added too. */
  void lend(Leases leases) throws NeuralNetworksException {
    for (Slot slot : all) {
      if (slot.argument instanceof Argument.Shared shared && shared.length() > 0) {
        try {
          leases.add(shared.memory());
        } catch (IllegalStateException e) {
          throw NeuralNetworksException.badData(
              "an argument stands in shared memory that is closed");
        }
      }
    }
  }

  /** Returns the caller's shared memories. */
  List<SharedMemory> memories() {
    List<SharedMemory> memories = new ArrayList<>();
    for (Slot slot : all) {
      if (slot.argument instanceof Argument.Shared shared && shared.length() > 0) {
        memories.add(shared.memory());
      }
    }
    return memories;
  }

  /** Copies complete outputs to the caller's memory, unless they were written in place. */
  void copyOut(Scratch scratch, Frame frame, CopyCount copies) throws NeuralNetworksException {
    for (int i = 0; i < outputs.length; i++) {
      Slot output = outputs[i];
      if (output.argument.length() > 0
          && isInPool(output)
          && (output.pool == null || output.pool.isStaged())) {
        long bytes = frame.get(graph.outputIndexes().get(i)).length();
        copies.argumentsOut += bytes;
        output.copy(scratch.outputs().segment(), output.offset, bytesOf(output.argument), 0, bytes);
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

  /** Sets the places of inputs and outputs. */
  void fill(Frame frame, Scratch scratch) {
    for (int i = 0; i < inputs.length; i++) {
      frame.set(graph.inputIndexes().get(i), value(inputs[i], scratch.inputs()));
    }
    for (int i = 0; i < outputs.length; i++) {
      frame.set(graph.outputIndexes().get(i), value(outputs[i], scratch.outputs()));
    }
  }

  private Value value(Slot slot, Pool scratch) {
    if (slot.binding != null) {
      return new Value(new Pool(slot.binding), 0, slot.binding.length(), slot.binding.shape());
    }
    long room = slot.room();
    if (slot.pool != null) {
      return new Value(slot.pool, 0, room, slot.shape);
    }
    if (room == 0) {
      return Value.OMITTED;
    }
    return slot.argument instanceof Argument.Shared shared && !isInPool(slot)
        ? new Value(new Pool(shared.memory()), shared.offset(), room, slot.shape)
        : new Value(scratch, slot.offset, room, slot.shape);
  }

  /** Returns the shapes that the outputs have after a success. */
  List<OutputShape> outputShapes(Frame frame) {
    if (fixedShapes != null) {
      return fixedShapes;
    }
    boolean areFixed = true;
    List<OutputShape> shapes = new ArrayList<>(outputs.length);
    for (int i = 0; i < outputs.length; i++) {
      Operand operand = graph.output(i);
      Value value = frame.get(graph.outputIndexes().get(i));
      boolean isFixed = operand.isSizeKnown() || value.isOmitted();
      areFixed &= isFixed;
      shapes.add(new OutputShape(isFixed ? operand.shape() : value.shape(), true));
    }
    if (areFixed) {
      fixedShapes = List.copyOf(shapes);
    }
    return shapes;
  }
}
