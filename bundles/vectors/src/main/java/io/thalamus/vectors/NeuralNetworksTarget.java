// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.api.Burst;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
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
  private static final long ALIGNMENT = 64;

  private final NeuralNetworks neuralNetworks;
  private final CompilationOptions options;
  private final Optional<CacheTally> caching;
  private final ArgumentMemory memory;
  private final BurstTally bursts = new BurstTally();
  private final LateEvents events = new LateEvents(System.nanoTime());

  /** The memory that arguments stand in. */
  public enum ArgumentMemory {
    /** In plain memory, to be copied. */
    PLAIN,
    /** In shared memory, to be lent. */
    SHARED,
    /**
     * In memories made for them, on the device where that has memory of its own; NNAPI's
     * DeviceMemoryTest. Outputs of open dimensions, and what no device has room for, stand in plain
     * memory.
     */
    DEVICE
  }

  /** A target whose arguments stand in plain memory. */
  public NeuralNetworksTarget(NeuralNetworks neuralNetworks, CompilationOptions options) {
    this(neuralNetworks, options, ArgumentMemory.PLAIN);
  }

  /**
   * A target for these options.
   *
   * @param options name the devices, if not all are to take part
   * @param memory where arguments stand
   */
  public NeuralNetworksTarget(
      NeuralNetworks neuralNetworks, CompilationOptions options, ArgumentMemory memory) {
    this(neuralNetworks, options, memory, Optional.empty());
  }

  private NeuralNetworksTarget(
      NeuralNetworks neuralNetworks,
      CompilationOptions options,
      ArgumentMemory memory,
      Optional<CacheTally> caching) {
    this.caching = caching;
    this.neuralNetworks = Objects.requireNonNull(neuralNetworks, "neuralNetworks");
    this.options = Objects.requireNonNull(options, "options");
    this.memory = Objects.requireNonNull(memory, "memory");
  }

  /**
   * The same, which compiles every model twice in a caching directory and executes the second.
   *
   * @param tally counts what came from the cache
   */
  public NeuralNetworksTarget with(CacheTally tally) {
    return new NeuralNetworksTarget(neuralNetworks, options, memory, Optional.of(tally));
  }

  /** Returns what went by burst until now. */
  public BurstTally bursts() {
    return bursts;
  }

  /** Returns the seed of the moments at which the events of fenced executions complete. */
  public long eventSeed() {
    return events.seed();
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
      Compilation compilation = compile(model);
      boolean isTimed = options.devices().size() == 1;
      Starter starter = new Starter(compilation, isTimed, bursts, events);
      return new BurstComparison(
          memory == ArgumentMemory.DEVICE
              ? new InMemories(neuralNetworks, starter)
              : new Compiled(starter, memory == ArgumentMemory.SHARED),
          bursts);
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

  /** A compilation, and the burst of its executions once one asks for it. Thread-safe. */
  private static final class Starter implements AutoCloseable {
    private final Compilation compilation;
    private final boolean isTimed;
    private final BurstTally tally;
    private final LateEvents events;
    private Burst burst;

    Starter(Compilation compilation, boolean isTimed, BurstTally tally, LateEvents events) {
      this.events = events;
      this.compilation = compilation;
      this.isTimed = isTimed;
      this.tally = tally;
    }

    Model model() {
      return compilation.model();
    }

    Compilation compilation() {
      return compilation;
    }

    Execution begin(Settings settings) {
      Execution execution = compilation.createExecution().setLoopTimeout(settings.loopTimeout());
      return settings.measureTiming() && isTimed ? execution.setMeasureTiming(true) : execution;
    }

    Answer finish(Execution execution, Settings settings) {
      return switch (settings.mode()) {
        case SYNC -> answer(execution.compute());
        case ASYNC -> answer(execution.computeAsync());
        case FENCED -> answer(events.start(execution));
        case BURST -> answer(execution.burstCompute(burst()));
      };
    }

    private synchronized Burst burst() {
      if (burst == null) {
        burst = compilation.createBurst();
      }
      return burst;
    }

    @Override
    public synchronized void close() {
      if (burst != null) {
        burst.close();
        tally.count(burst.describe());
      }
      compilation.close();
    }
  }

  /** A compilation whose arguments stand in plain memory or in shared memory. */
  private record Compiled(Starter starter, boolean sharedMemory) implements Prepared {
    @Override
    public Answer execute(Arguments arguments, Settings settings) {
      return sharedMemory ? executeShared(arguments, settings) : executePlain(arguments, settings);
    }

    private Answer executeShared(Arguments arguments, Settings settings) {
      Execution execution = starter.begin(settings);
      for (int i = 0; i < arguments.inputs().size(); i++) {
        Range range = arguments.inputs().get(i);
        SharedMemory memory = arguments.inputMemory();
        if (range.isEmpty()) {
          execution.setInput(i, MemorySegment.NULL, range.shape());
        } else {
          execution.setInput(i, memory, range.offset(), range.length(), range.shape());
        }
      }
      for (int i = 0; i < arguments.outputs().size(); i++) {
        Range range = arguments.outputs().get(i);
        SharedMemory memory = arguments.outputMemory();
        if (range.isEmpty()) {
          execution.setOutput(i, MemorySegment.NULL);
        } else {
          execution.setOutput(i, memory, range.offset(), range.length(), Shape.NONE);
        }
      }
      return starter.finish(execution, settings);
    }

    /**
     * Executes with arguments off the heap, where devices that take pointers use them in place.
     * Everything that was written is copied back, guards included.
     */
    private Answer executePlain(Arguments arguments, Settings settings) {
      boolean isInCallersThread =
          settings.mode() == RunOptions.Mode.SYNC || settings.mode() == RunOptions.Mode.BURST;
      try (Arena arena = isInCallersThread ? Arena.ofConfined() : Arena.ofShared()) {
        MemorySegment inputs = plain(arguments.inputMemory(), arena);
        MemorySegment outputs = plain(arguments.outputMemory(), arena);
        Execution execution = starter.begin(settings);
        for (int i = 0; i < arguments.inputs().size(); i++) {
          Range range = arguments.inputs().get(i);
          execution.setInput(i, inputs.asSlice(range.offset(), range.length()), range.shape());
        }
        for (int i = 0; i < arguments.outputs().size(); i++) {
          Range range = arguments.outputs().get(i);
          execution.setOutput(i, outputs.asSlice(range.offset(), range.length()));
        }
        Answer answer = starter.finish(execution, settings);
        arguments.inputMemory().segment().copyFrom(inputs);
        arguments.outputMemory().segment().copyFrom(outputs);
        return answer;
      }
    }

    private static MemorySegment plain(SharedMemory memory, Arena arena) {
      return arena.allocate(memory.size(), ALIGNMENT).copyFrom(memory.segment());
    }

    @Override
    public void close() {
      starter.close();
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

  /** A compilation whose arguments stand in memories made for each execution. */
  private record InMemories(NeuralNetworks networks, Starter starter) implements Prepared {
    @Override
    public Answer execute(Arguments arguments, Settings settings) {
      Compilation compilation = starter.compilation();
      List<Memory> made = new ArrayList<>();
      try {
        Execution execution = starter.begin(settings);
        for (int i = 0; i < arguments.inputs().size(); i++) {
          Range range = arguments.inputs().get(i);
          MemorySegment value = slice(arguments.inputMemory(), range);
          if (value.byteSize() == 0) {
            execution.setInput(i, value);
            continue;
          }
          MemoryDesc desc =
              MemoryDesc.builder("input " + i)
                  .input(compilation, i)
                  .dimensions(range.shape())
                  .build();
          Optional<Memory> input = make(made, desc);
          if (input.isPresent()) {
            input.get().copyFrom(value);
            execution.setInput(i, input.get());
          } else {
            execution.setInput(i, value, range.shape());
          }
        }
        Memory[] outputs = new Memory[arguments.outputs().size()];
        for (int i = 0; i < outputs.length; i++) {
          MemoryDesc desc = MemoryDesc.builder("output " + i).output(compilation, i).build();
          boolean isOpen = !starter.model().main().output(i).isSizeKnown();
          Optional<Memory> output = isOpen ? Optional.empty() : make(made, desc);
          if (output.isPresent()) {
            outputs[i] = output.get();
            execution.setOutput(i, outputs[i]);
          } else {
            execution.setOutput(i, slice(arguments.outputMemory(), arguments.outputs().get(i)));
          }
        }
        Answer answer = starter.finish(execution, settings);
        for (int i = 0; i < outputs.length; i++) {
          if (outputs[i] != null && answer.status() == Status.DONE) {
            outputs[i].copyTo(slice(arguments.outputMemory(), arguments.outputs().get(i)));
          }
        }
        return answer;
      } catch (NeuralNetworksException e) {
        return Answer.failed(status(e.code()), e.code() + ": " + e.getMessage());
      } finally {
        made.forEach(Memory::close);
      }
    }

    /** A memory; empty where no device has room for it, as for what the interpreter uses. */
    private Optional<Memory> make(List<Memory> made, MemoryDesc desc)
        throws NeuralNetworksException {
      try {
        Memory memory = networks.createMemory(desc);
        made.add(memory);
        return Optional.of(memory);
      } catch (NeuralNetworksException e) {
        if (e.code() == ResultCode.OP_FAILED) {
          return Optional.empty();
        }
        throw e;
      }
    }

    @Override
    public void close() {
      starter.close();
    }
  }
}
