// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.control;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tells a device to stop while it computes a single long operation, of those that it supports.
 * Immutable; runs in the calling thread.
 *
 * @param device who must stop
 */
public record StopSuite(Device device) {
  /**
   * Checkpoints that are passed: the first may stand before the operation, the later ones must
   * stand within it.
   */
  private static final int PASSED = 3;

  private static final String RAN_ON = "it ran to its end";

  public StopSuite {
    Objects.requireNonNull(device, "device");
  }

  /**
   * The result of one operation.
   *
   * @param operation its name
   * @param signal what the device was told
   * @param fault what it did wrong, if anything
   * @param isUnstopped whether its one operation ran to the end, as one may that passes no
   *     checkpoints inside
   */
  public record Finding(
      String operation, Signal signal, Optional<String> fault, boolean isUnstopped) {
    public Finding {
      Objects.requireNonNull(operation, "operation");
      Objects.requireNonNull(signal, "signal");
      Objects.requireNonNull(fault, "fault");
    }

    /** All of it in one line. */
    public String text() {
      return operation + " at " + signal + ": " + fault.orElse("stopped");
    }
  }

  /** Tries all operations that the device supports, with each signal. */
  public List<Finding> run() {
    List<Finding> findings = new ArrayList<>();
    try (SharedMemory weights = LongOperation.newWeights()) {
      for (LongOperation operation : LongOperation.values()) {
        for (Signal signal : List.of(Signal.CANCELLED, Signal.DEADLINE)) {
          run(operation.model(weights), signal)
              .ifPresent(
                  fault ->
                      findings.add(
                          new Finding(
                              operation.name(),
                              signal,
                              fault.isEmpty() ? Optional.empty() : Optional.of(fault),
                              !operation.isChain() && fault.startsWith(RAN_ON))));
        }
      }
    }
    return findings;
  }

  /**
   * Returns what was wrong, an empty text for nothing; empty where the operation is not supported.
   */
  private Optional<String> run(Model model, Signal signal) {
    try {
      if (device.supportedOperations(model).cardinality() < model.main().operations().size()) {
        return Optional.empty();
      }
      try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
          SharedMemory arguments = SharedMemory.allocate(MemoryKind.ASHMEM, size(model))) {
        AtomicInteger asked = new AtomicInteger();
        ExecutionControl control =
            () -> asked.incrementAndGet() <= PASSED ? Signal.CONTINUE : signal;
        ExecutionResult result =
            prepared.execute(request(model, arguments), ExecutionConfig.DEFAULT.with(control));
        return Optional.of(fault(result, signal, asked.get()));
      }
    } catch (DeviceException e) {
      return Optional.of("it was refused with " + e.status() + ": " + e.getMessage());
    } catch (RuntimeException | Error e) {
      return Optional.of(Outcome.Failed.of(e).reason());
    }
  }

  private static String fault(ExecutionResult result, Signal signal, int asked) {
    ErrorStatus wanted =
        signal == Signal.CANCELLED
            ? ErrorStatus.GENERAL_FAILURE
            : ErrorStatus.MISSED_DEADLINE_TRANSIENT;
    if (!(result instanceof ExecutionResult.Failed failed)) {
      return RAN_ON + ", and passed " + asked + " checkpoints";
    }
    return failed.status() == wanted
        ? ""
        : "it ended with " + failed.status() + " rather than " + wanted + ": " + failed.message();
  }

  private static long size(Model model) {
    long size = 0;
    for (Operand argument : arguments(model)) {
      size += bytes(argument);
    }
    return size;
  }

  /** Inputs of zeros, which are as good as any, then outputs. */
  private static Request request(Model model, SharedMemory memory) {
    List<Request.Argument> places = new ArrayList<>();
    long offset = 0;
    for (Operand argument : arguments(model)) {
      places.add(new Request.Location(0, offset, bytes(argument), Shape.NONE));
      offset += bytes(argument);
    }
    int inputs = model.main().inputIndexes().size();
    return new Request(
        places.subList(0, inputs),
        places.subList(inputs, places.size()),
        List.of(new MemoryPool.Shared(memory)));
  }

  private static List<Operand> arguments(Model model) {
    List<Operand> arguments = new ArrayList<>();
    model.main().inputIndexes().forEach(i -> arguments.add(model.main().operands().get(i)));
    model.main().outputIndexes().forEach(i -> arguments.add(model.main().operands().get(i)));
    return arguments;
  }

  private static long bytes(Operand operand) {
    return operand.shape().elementCount() * operand.type().elementSize();
  }
}
