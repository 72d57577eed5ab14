// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.Shape;
import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Barrier;
import io.thalamus.npu.command.Command.End;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Executable.Memories;
import io.thalamus.npu.command.Executable.Place;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.OperatingPoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * A model on its way to commands: layers with their constants, and nothing of the model itself. Two
 * stages: {@link #quick} takes the first tiling that fits, {@link #searched} tries many. Both give
 * executables that take the same memories and compute the same bits. Immutable and thread-safe.
 *
 * @param tensorBytes of DRAM that the tensors take
 * @param inputs by input of the model
 * @param outputs by output of the model
 */
public record NpuCompilation(
    Architecture architecture,
    List<Step> steps,
    int tensorBytes,
    List<Tensor> inputs,
    List<Tensor> outputs) {
  /** Constants begin at multiples of this. */
  private static final int ALIGNMENT = 16;

  public NpuCompilation {
    steps = List.copyOf(steps);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** The shapes of the model's outputs. */
  public List<Shape> outputShapes() {
    return outputs.stream().map(Tensor::shape).toList();
  }

  /** A layer of an operation of the model. */
  record Step(int operation, LoopNest<?> layer) {}

  /** The first stage. */
  public Executable quick() {
    return executable(quickTilings());
  }

  private List<int[]> quickTilings() {
    return steps.stream().map(step -> Search.quick(step.layer()).orElseThrow()).toList();
  }

  /**
   * The second stage.
   *
   * @param point that cycles are counted at
   * @param budget tilings to be tried for each layer
   * @param seed of the sequence of tilings
   * @param isStopped asked between two tilings; then the rest of the search is left out
   */
  public Executable searched(
      OperatingPoint point, int budget, long seed, BooleanSupplier isStopped) {
    Search search = new Search(architecture, point, seed);
    List<int[]> tilings = new ArrayList<>(quickTilings());
    for (int i = 0; i < tilings.size(); i++) {
      tilings.set(i, search.best(steps.get(i).layer(), tilings.get(i), i, budget, isStopped));
    }
    return executable(tilings);
  }

  private Executable executable(List<int[]> tilings) {
    Program program = new Program();
    int operation = -1;
    for (int i = 0; i < steps.size(); i++) {
      if (steps.get(i).operation() != operation) {
        operation = steps.get(i).operation();
        program.add(new Barrier(operation));
      }
      steps.get(i).layer().emit(tilings.get(i), program);
    }
    program.add(new End());
    List<Place> ins = inputs.stream().map(program::place).toList();
    List<Place> outs = outputs.stream().map(program::place).toList();
    return new Executable(
        new Memories(architecture.scratchpad(), architecture.accumulators(), tensorBytes),
        architecture.array().columns(),
        ins,
        outs,
        program.commands,
        Arrays.copyOf(program.weights, program.used));
  }

  /** Commands and weights so far. */
  private static final class Program implements Emitter {
    final List<Command> commands = new ArrayList<>();
    private final Map<Constant, Integer> addresses = new HashMap<>();
    byte[] weights = new byte[1 << 12];
    int used;

    @Override
    public void add(Command command) {
      commands.add(command);
    }

    @Override
    public int address(Constant constant) {
      return addresses.computeIfAbsent(constant, this::append);
    }

    private int append(Constant constant) {
      byte[] bytes = constant.bytes();
      int address = Math.ceilDiv(used, ALIGNMENT) * ALIGNMENT;
      int end = Math.addExact(address, bytes.length);
      if (end > weights.length) {
        weights = Arrays.copyOf(weights, (int) Math.min(2L * end, Integer.MAX_VALUE - 8));
      }
      System.arraycopy(bytes, 0, weights, address, bytes.length);
      used = end;
      return address;
    }

    Place place(Tensor tensor) {
      return tensor.constant() == null
          ? new Place(Command.TENSORS, tensor.address(), tensor.bytes())
          : new Place(Command.WEIGHTS, address(tensor.constant()), tensor.bytes());
    }
  }
}
