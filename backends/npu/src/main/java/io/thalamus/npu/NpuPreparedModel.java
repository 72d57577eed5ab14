// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.FramedPreparedModel;
import io.thalamus.driver.RequestArguments;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.memory.BulkCopy;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Executable.Place;
import io.thalamus.npu.machine.MachineFault;
import io.thalamus.npu.machine.Memory;
import io.thalamus.npu.timing.PowerBudget;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A compiled model. Thread-safe. Knows the model's arguments and the loaded program, nothing else
 * of the model. A better program of the same model may take its place between two executions. Owned
 * by whoever prepared it.
 */
public final class NpuPreparedModel extends FramedPreparedModel<Memory> {
  private static final System.Logger LOG =
      System.getLogger(NpuPreparedModel.class.getPackageName());

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final Model model;
  private final List<Shape> shapes;
  private final Optional<String> staleness;
  private final NpuConfig config;
  private final SecondStage secondStage;
  private final Priority priority;
  private final Chip chip;
  private volatile Program program;
  private volatile boolean isReleased;
  private volatile DeviceException secondStageFailure;
  private volatile long latestNanos;

  /**
   * A prepared model.
   *
   * @param arguments what {@link CachedArguments#alone} makes of the model
   * @param shapes of the outputs
   * @param staleness of a program that was restored
   * @param config of the device
   * @param secondStage of the device, which ends when the device is stopped
   * @param priority of the executions
   * @param chip of the device
   */
  NpuPreparedModel(
      Model arguments,
      NpuDevice device,
      List<Shape> shapes,
      Optional<String> staleness,
      Program program,
      NpuConfig config,
      SecondStage secondStage,
      Priority priority,
      Chip chip) {
    super(arguments, device);
    this.model = arguments;
    this.shapes = List.copyOf(shapes);
    this.staleness = staleness;
    this.program = program;
    this.config = config;
    this.secondStage = secondStage;
    this.priority = priority;
    this.chip = chip;
  }

  /** Returns the rank among the models of the same application. */
  Priority priority() {
    return priority;
  }

  /** The graph of inputs and outputs alone. */
  Model arguments() {
    return model;
  }

  @Override
  protected List<Shape> outputShapes() {
    return shapes;
  }

  @Override
  public Optional<String> staleness() {
    return staleness;
  }

  /** Returns the cost of an execution on the hardware, with the present program. */
  public NpuReport report() {
    return program.report();
  }

  /**
   * Returns the time from the arrival of the latest execution at the device to its end, in
   * nanoseconds of the device's own clock; 0 before the first.
   */
  public long latestNanos() {
    return latestNanos;
  }

  /**
   * Returns the cost of a minute on the hardware, with the present program.
   *
   * @param rate of requests, in each second
   * @param isBurst whether a burst is open all the time
   */
  public PowerBudget minute(double rate, boolean isBurst) {
    return program.budget(config.power(), rate, MINUTE, isBurst);
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

  /** Returns the reason why there is no better program; null if there is one, or may come. */
  DeviceException secondStageFailure() {
    return secondStageFailure;
  }

  /** Returns whether nothing runs it any more. */
  boolean isReleased() {
    return isReleased;
  }

  @Override
  protected Memory newFrame() {
    // The first frame of all meets the lack of room for what all of them share.
    chip.sram();
    return new Memory(program.machine().executable().memories());
  }

  @Override
  protected void release() {
    isReleased = true;
    secondStage.withdraw(this);
  }

  /** A burst keeps the supply up from one execution to the next. */
  @Override
  protected void burstBegan() {
    chip.supply().hold(chip.clock().nanoTime(), program.point());
  }

  @Override
  protected void burstEnded() {
    chip.supply().letGo(chip.clock().nanoTime(), program.point());
  }

  @Override
  protected ExecutionResult run(
      Memory memory, RequestArguments arguments, ExecutionConfig settings, long startNanos) {
    Program current = program;
    Executable executable = current.machine().executable();
    int transfers = 0;
    long bytesIn = 0;
    for (int i = 0; i < arguments.inputs().length; i++) {
      Place place = executable.inputs().get(i);
      MemorySegment input = arguments.inputs()[i];
      if (input == MemorySegment.NULL) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "input " + i + " must not be left out");
      }
      if (!BufferDram.holds(input)) {
        transfers++;
        bytesIn += place.bytes();
      }
      BulkCopy.copy(
          input, 0, MemorySegment.ofArray(memory.tensors), place.address(), place.bytes());
    }
    Priority rank = settings.control().executionPriority().orElse(priority);
    StreamRun stream = new StreamRun(chip, current, memory, rank, settings);
    Failed failure = execute(stream);
    if (failure != null) {
      return failure;
    }
    long bytesOut = 0;
    for (int i = 0; i < arguments.outputs().length; i++) {
      MemorySegment output = arguments.outputs()[i];
      if (output == null) {
        continue;
      }
      Place place = executable.outputs().get(i);
      if (!BufferDram.holds(output)) {
        transfers++;
        bytesOut += place.bytes();
      }
      copyOut(executable, memory, place, output);
    }
    latestNanos = stream.elapsedNanos();
    Timing timing = Timing.NONE;
    if (settings.measureTiming()) {
      long transferred = config.link().nanos(transfers, bytesIn + bytesOut);
      timing = timing(stream.workedNanos(), stream.elapsedNanos() + transferred, startNanos);
    }
    return arguments.completed(timing, bytesIn, bytesOut);
  }

  private static Failed execute(StreamRun stream) {
    try {
      return stream.run();
    } catch (MachineFault e) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, "the device has halted: " + e.getMessage());
    }
  }

  /**
   * Returns the simulated time of the hardware, and that of the driver on the host, which is never
   * less than the simulated time from the arrival of the request to its end.
   */
  private static Timing timing(long deviceNanos, long leastNanos, long startNanos) {
    long host = System.nanoTime() - startNanos;
    return Timing.of(Duration.ofNanos(deviceNanos), Duration.ofNanos(Math.max(host, leastNanos)));
  }

  private static void copyOut(Executable executable, Memory memory, Place place, MemorySegment to) {
    byte[] from = place.space() == Command.WEIGHTS ? executable.weights() : memory.tensors;
    BulkCopy.copy(MemorySegment.ofArray(from), place.address(), to, 0, place.bytes());
  }
}
