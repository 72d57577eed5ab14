// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Runs examples through the runtime, as an application would. Thread-safe.
 *
 * <p>Timing is asked for only where exactly one device is named: NNAPI refuses it elsewhere.
 */
public final class NeuralNetworksTarget implements Target {
  private final NeuralNetworks neuralNetworks;
  private final CompilationOptions options;
  private final boolean sharedMemory;
  private final Optional<CacheTally> caching;

  /** A target whose arguments stand in plain memory. */
  public NeuralNetworksTarget(NeuralNetworks neuralNetworks, CompilationOptions options) {
    this(neuralNetworks, options, false);
  }

  /**
   * A target for these options.
   *
   * @param options name the devices, if not all are to take part
   * @param sharedMemory whether arguments are handed over as shared memory
   */
  public NeuralNetworksTarget(
      NeuralNetworks neuralNetworks, CompilationOptions options, boolean sharedMemory) {
    this(neuralNetworks, options, sharedMemory, Optional.empty());
  }

  private NeuralNetworksTarget(
      NeuralNetworks neuralNetworks,
      CompilationOptions options,
      boolean sharedMemory,
      Optional<CacheTally> caching) {
    this.caching = caching;
    this.neuralNetworks = Objects.requireNonNull(neuralNetworks, "neuralNetworks");
    this.options = Objects.requireNonNull(options, "options");
    this.sharedMemory = sharedMemory;
  }

  /**
   * The same, which compiles every model twice in a caching directory and executes the second.
   *
   * @param tally counts what came from the cache
   */
  public NeuralNetworksTarget with(CacheTally tally) {
    return new NeuralNetworksTarget(neuralNetworks, options, sharedMemory, Optional.of(tally));
  }

  @Override
  public String name() {
    List<String> devices = options.devices();
    return switch (devices.size()) {
      case 0 -> "any device";
      case 1 -> "device " + devices.getFirst();
      default -> "any of the devices " + String.join(", ", devices);
    };
  }

  @Override
  public BitSet supportedOperations(Model model) throws Refusal {
    try {
      return neuralNetworks.supportedOperations(model, options.devices());
    } catch (NeuralNetworksException e) {
      throw refusal(e);
    }
  }

  @Override
  public Prepared prepare(Model model) throws Refusal {
    try {
      return new Compiled(compile(model), options.devices().size() == 1, sharedMemory);
    } catch (NeuralNetworksException e) {
      throw refusal(e);
    }
  }

  private Compilation compile(Model model) throws NeuralNetworksException {
    if (caching.isEmpty()) {
      return neuralNetworks.compile(model, options);
    }
    CompilationOptions cached = caching.get().next(options);
    neuralNetworks.compile(model, cached).close();
    Compilation second = neuralNetworks.compile(model, cached);
    caching.get().count(second.caching());
    return second;
  }

  private static Refusal refusal(NeuralNetworksException e) {
    return new Refusal(status(e.code()), e.code() + ": " + e.getMessage(), e);
  }

  private static Status status(ResultCode code) {
    return switch (code) {
      case NO_ERROR -> Status.DONE;
      case OUTPUT_INSUFFICIENT_SIZE -> Status.OUTPUT_INSUFFICIENT_SIZE;
      case BAD_DATA, UNEXPECTED_NULL -> Status.REFUSED;
      case MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT -> Status.MISSED_DEADLINE;
      case OUT_OF_MEMORY,
          INCOMPLETE,
          OP_FAILED,
          BAD_STATE,
          UNMAPPABLE,
          UNAVAILABLE_DEVICE,
          RESOURCE_EXHAUSTED_TRANSIENT,
          RESOURCE_EXHAUSTED_PERSISTENT,
          DEAD_OBJECT ->
          Status.FAILED;
    };
  }

  /** A compilation, with what its executions need to know. */
  private record Compiled(Compilation compilation, boolean timed, boolean sharedMemory)
      implements Prepared {
    @Override
    public Answer execute(Arguments arguments, Settings settings) {
      Execution execution = compilation.createExecution().setLoopTimeout(settings.loopTimeout());
      if (settings.measureTiming() && timed) {
        execution.setMeasureTiming(true);
      }
      for (int i = 0; i < arguments.inputs().size(); i++) {
        setInput(execution, i, arguments.inputMemory(), arguments.inputs().get(i));
      }
      for (int i = 0; i < arguments.outputs().size(); i++) {
        setOutput(execution, i, arguments.outputMemory(), arguments.outputs().get(i));
      }
      return switch (settings.mode()) {
        case SYNC -> answer(execution.compute());
        case ASYNC -> answer(execution.computeAsync());
        case FENCED -> answer(execution.startComputeWithDependencies(List.of()));
      };
    }

    private void setInput(Execution execution, int index, SharedMemory memory, Range range) {
      if (sharedMemory && !range.isEmpty()) {
        execution.setInput(index, memory, range.offset(), range.length(), Shape.NONE);
      } else {
        execution.setInput(index, slice(memory, range));
      }
    }

    private void setOutput(Execution execution, int index, SharedMemory memory, Range range) {
      if (sharedMemory && !range.isEmpty()) {
        execution.setOutput(index, memory, range.offset(), range.length(), Shape.NONE);
      } else {
        execution.setOutput(index, slice(memory, range));
      }
    }

    private static MemorySegment slice(SharedMemory memory, Range range) {
      return memory.segment().asSlice(range.offset(), range.length());
    }

    private static Answer answer(CompletableFuture<ExecutionReport> future) {
      try {
        return answer(future.get());
      } catch (ExecutionException e) {
        return Answer.failed(Status.FAILED, "the execution threw " + e.getCause());
      } catch (CancellationException e) {
        return Answer.failed(Status.FAILED, "the execution was cancelled");
      } catch (InterruptedException e) {
        future.cancel(true);
        Thread.currentThread().interrupt();
        return Answer.failed(Status.FAILED, "interrupted while waiting for the execution");
      }
    }

    private static Answer answer(ExecutionReport report) {
      return switch (status(report.code())) {
        case DONE -> Answer.done(report.outputs(), report.timing());
        case OUTPUT_INSUFFICIENT_SIZE -> Answer.insufficient(report.outputs());
        case REFUSED, MISSED_DEADLINE, FAILED ->
            Answer.failed(status(report.code()), report.code() + ": " + report.message());
      };
    }

    @Override
    public void close() {
      compilation.close();
    }
  }
}
