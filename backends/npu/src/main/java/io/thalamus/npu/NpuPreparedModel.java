// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.FramedPreparedModel;
import io.thalamus.driver.RequestArguments;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Timing;
import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Executable.Place;
import io.thalamus.npu.machine.MachineFault;
import io.thalamus.npu.machine.Memory;
import io.thalamus.npu.timing.HostLink;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * A compiled model. Thread-safe. Knows the model's arguments and the loaded program, nothing else
 * of the model. A better program of the same model may take its place between two executions. Owned
 * by whoever prepared it.
 */
public final class NpuPreparedModel extends FramedPreparedModel<Memory> {
  private static final System.Logger LOG =
      System.getLogger(NpuPreparedModel.class.getPackageName());

  private final Model model;
  private final List<Shape> shapes;
  private final HostLink link;
  private final BooleanSupplier isStopped;
  private volatile Program program;
  private volatile boolean isReleased;
  private volatile DeviceException secondStageFailure;

  /**
   * A prepared model.
   *
   * @param arguments what {@link #arguments(Subgraph)} makes of the model
   * @param shapes of the outputs
   * @param link that arguments in the host's memory are transferred over
   * @param isStopped whether the device has been stopped
   */
  NpuPreparedModel(
      Model arguments,
      NpuDevice device,
      List<Shape> shapes,
      Program program,
      HostLink link,
      BooleanSupplier isStopped) {
    super(arguments, device);
    this.model = arguments;
    this.shapes = List.copyOf(shapes);
    this.program = program;
    this.link = link;
    this.isStopped = isStopped;
  }

  /** A graph of inputs and outputs alone. */
  static Model arguments(Subgraph graph) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> inputs = new ArrayList<>();
    List<Integer> outputs = new ArrayList<>();
    graph.inputIndexes().forEach(i -> inputs.add(builder.operand(graph.operands().get(i))));
    graph.outputIndexes().forEach(i -> outputs.add(builder.operand(graph.operands().get(i))));
    return Model.of(builder.build(inputs, outputs));
  }

  /** The graph of inputs and outputs alone. */
  Model arguments() {
    return model;
  }

  /** The shapes of the outputs. */
  List<Shape> shapes() {
    return shapes;
  }

  /** Returns the cost of an execution on the hardware, with the present program. */
  public NpuReport report() {
    return program.report();
  }

  /** Returns start and end of each command of an execution on the hardware, one a line. */
  public String trace() {
    return program.trace();
  }

  /** Returns the program that executions run from now on. */
  Program program() {
    return program;
  }

  /** Replaces the program by one that takes the same memory and computes the same. */
  void replace(Program better) {
    program = better;
  }

  /** Keeps the program that it has, as no better one could be made. */
  void keep(DeviceException reason) {
    secondStageFailure = reason;
    LOG.log(Level.WARNING, "a model keeps its first program, since the second failed", reason);
  }

  /** Why there is no better program; null where there is, or may come. */
  DeviceException secondStageFailure() {
    return secondStageFailure;
  }

  /** Returns whether nothing runs it any more. */
  boolean isReleased() {
    return isReleased;
  }

  @Override
  protected Memory newFrame() {
    return new Memory(program.machine().executable().memories());
  }

  @Override
  protected void release() {
    isReleased = true;
  }

  @Override
  protected ExecutionResult run(
      Memory memory, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    Program current = program;
    Executable executable = current.machine().executable();
    List<OutputShape> results = outputShapes(arguments, executable);
    if (results.stream().anyMatch(result -> !result.isSufficient())) {
      return new OutputInsufficientSize(results);
    }
    for (int i = 0; i < arguments.inputs().length; i++) {
      Place place = executable.inputs().get(i);
      if (arguments.inputs()[i] == MemorySegment.NULL) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "input " + i + " must not be left out");
      }
      MemorySegment.copy(
          arguments.inputs()[i],
          ValueLayout.JAVA_BYTE,
          0,
          memory.tensors,
          place.address(),
          place.bytes());
    }
    Failed failure = execute(current, memory, config);
    if (failure != null) {
      return failure;
    }
    for (int i = 0; i < arguments.outputs().length; i++) {
      if (arguments.outputs()[i] != null) {
        copyOut(executable, memory, executable.outputs().get(i), arguments.outputs()[i]);
      }
    }
    return new Completed(
        results, config.measureTiming() ? timing(current, arguments, startNanos) : Timing.NONE);
  }

  private Failed execute(Program current, Memory memory, ExecutionConfig config) {
    Failed[] stopped = new Failed[1];
    try {
      current
          .machine()
          .run(
              memory,
              () -> {
                stopped[0] =
                    isStopped.getAsBoolean()
                        ? new Failed(ErrorStatus.GENERAL_FAILURE, "the device has been stopped")
                        : Checkpoint.pass(config);
                return stopped[0] == null;
              });
      return stopped[0];
    } catch (MachineFault e) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, "the device has halted: " + e.getMessage());
    }
  }

  /**
   * The hardware's time is simulated; that of the driver is the host's, but never less than the
   * hardware's and that of the transfers.
   */
  private Timing timing(Program program, RequestArguments arguments, long startNanos) {
    Duration host = Duration.ofNanos(System.nanoTime() - startNanos);
    Duration device = program.onDevice();
    Duration least = device.plusNanos(transferNanos(program, arguments));
    return Timing.of(device, host.compareTo(least) < 0 ? least : host);
  }

  /** Between DRAM and the arguments in the host's memory; those in buffers are in DRAM. */
  private long transferNanos(Program program, RequestArguments arguments) {
    Executable executable = program.machine().executable();
    int transfers = 0;
    long bytes = 0;
    for (int i = 0; i < arguments.inputs().length; i++) {
      if (!BufferDram.holds(arguments.inputs()[i])) {
        transfers++;
        bytes += executable.inputs().get(i).bytes();
      }
    }
    for (int i = 0; i < arguments.outputs().length; i++) {
      MemorySegment output = arguments.outputs()[i];
      if (output != null && !BufferDram.holds(output)) {
        transfers++;
        bytes += executable.outputs().get(i).bytes();
      }
    }
    return link.nanos(transfers, bytes);
  }

  private static void copyOut(Executable executable, Memory memory, Place place, MemorySegment to) {
    byte[] from = place.space() == Command.WEIGHTS ? executable.weights() : memory.tensors;
    MemorySegment.copy(from, place.address(), to, ValueLayout.JAVA_BYTE, 0, place.bytes());
  }

  private List<OutputShape> outputShapes(RequestArguments arguments, Executable executable) {
    List<OutputShape> result = new ArrayList<>(shapes.size());
    for (int i = 0; i < shapes.size(); i++) {
      MemorySegment given = arguments.outputs()[i];
      int size = executable.outputs().get(i).bytes();
      result.add(new OutputShape(shapes.get(i), given == null || given.byteSize() >= size));
    }
    return result;
  }
}
