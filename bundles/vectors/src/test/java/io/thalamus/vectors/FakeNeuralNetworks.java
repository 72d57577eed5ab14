// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
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
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.model.reader.ReadOptions;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** The runtime reduced to one device and no partitions. */
record FakeNeuralNetworks(Device device, AtomicInteger memoriesMade) implements NeuralNetworks {
  FakeNeuralNetworks(Device device) {
    this(device, new AtomicInteger());
  }

  @Override
  public List<DeviceDescription> devices() {
    return List.of();
  }

  @Override
  public LoadedModel load(Path file, ReadOptions options) {
    throw new UnsupportedOperationException("vectors load no models");
  }

  @Override
  public LoadedModel load(String name, MemorySegment bytes, ReadOptions options) {
    throw new UnsupportedOperationException("vectors load no models");
  }

  @Override
  public BitSet supportedOperations(Model model, List<String> devices)
      throws NeuralNetworksException {
    try {
      return device.supportedOperations(model);
    } catch (DeviceException e) {
      throw refused(e);
    }
  }

  @Override
  public List<String> policies() {
    return List.of("greedy");
  }

  @Override
  public Plan measure(Model model, CompilationOptions options, java.time.Duration patience) {
    return plan(model, options);
  }

  @Override
  public Plan plan(Model model, CompilationOptions options) {
    throw new UnsupportedOperationException("vectors need no plan");
  }

  @Override
  public Compilation compile(Model model, CompilationOptions options)
      throws NeuralNetworksException {
    try {
      return new FakeCompilation(model, device.prepare(model, PrepareConfig.DEFAULT));
    } catch (DeviceException e) {
      throw refused(e);
    }
  }

  private static NeuralNetworksException refused(DeviceException e) {
    return new NeuralNetworksException(code(e.status()), e.getMessage(), e);
  }

  private static ResultCode code(ErrorStatus status) {
    return switch (status) {
      case INVALID_ARGUMENT -> ResultCode.BAD_DATA;
      case MISSED_DEADLINE_TRANSIENT -> ResultCode.MISSED_DEADLINE_TRANSIENT;
      default -> ResultCode.OP_FAILED;
    };
  }

  private record FakeCompilation(Model model, PreparedModel prepared) implements Compilation {
    @Override
    public Plan plan() {
      throw new UnsupportedOperationException("vectors need no plan");
    }

    @Override
    public List<CacheOutcome> caching() {
      return List.of();
    }

    @Override
    public boolean isReplanning() {
      return false;
    }

    @Override
    public Execution createExecution() {
      return new FakeExecution(model, prepared);
    }

    @Override
    public Burst createBurst(BurstOptions options) {
      return new FakeBurst(options);
    }

    @Override
    public void close() {
      prepared.close();
    }
  }

  @Override
  public Memory createMemory(MemoryDesc desc) {
    MemoryDesc.Role role = desc.roles().get(0);
    Model model = role.compilation().model();
    boolean isInput = role.direction() == MemoryDesc.Direction.INPUT;
    Operand operand =
        isInput ? model.main().input(role.index()) : model.main().output(role.index());
    Shape shape = desc.dimensions().rank() > 0 ? desc.dimensions() : operand.shape();
    memoriesMade.incrementAndGet();
    return new FakeMemory(desc.name(), new byte[(int) operand.with(shape).byteSize()], shape);
  }

  @Override
  public List<MemoryInfo> memories() {
    return List.of();
  }

  /** A memory that is nowhere but here. */
  private record FakeMemory(String name, byte[] bytes, Shape shape) implements Memory {
    MemorySegment segment() {
      return MemorySegment.ofArray(bytes);
    }

    @Override
    public void copyFrom(MemorySegment source, Shape given) {
      segment().copyFrom(source);
    }

    @Override
    public void copyFrom(Memory source) {
      segment().copyFrom(((FakeMemory) source).segment());
    }

    @Override
    public void copyTo(MemorySegment destination) {
      destination.copyFrom(segment());
    }

    @Override
    public void save(Path file) {
      throw new UnsupportedOperationException("nobody saves it");
    }

    @Override
    public void restore(Path file) {
      throw new UnsupportedOperationException("nobody saved it");
    }

    @Override
    public MemoryInfo describe() {
      throw new UnsupportedOperationException("nobody looks at it");
    }

    @Override
    public void close() {
      // The collector takes it.
    }
  }

  /** A burst whose executions are executed as any other. */
  private record FakeBurst(BurstOptions options) implements Burst {
    @Override
    public BurstInfo describe() {
      return new BurstInfo(options.depth(), 0, 0, 0, Map.of());
    }

    @Override
    public void close() {
      // Nothing is open.
    }
  }

  /** Copies plain arguments into memories of their own, and results back. */
  private static final class FakeExecution implements Execution {
    private final Model model;
    private final PreparedModel prepared;
    private final List<MemoryPool> pools = new ArrayList<>();
    private final List<SharedMemory> own = new ArrayList<>();
    private final List<Request.Argument> inputs = new ArrayList<>();
    private final List<Request.Argument> outputs = new ArrayList<>();
    private final List<Runnable> copiesBack = new ArrayList<>();
    private ExecutionConfig config = ExecutionConfig.DEFAULT;

    FakeExecution(Model model, PreparedModel prepared) {
      this.model = model;
      this.prepared = prepared;
    }

    @Override
    public Execution setInput(int index, MemorySegment value, Shape shape) {
      if (value.byteSize() == 0) {
        inputs.add(Request.Argument.NO_VALUE);
        return this;
      }
      SharedMemory memory = allocate(value.byteSize());
      memory.segment().asSlice(0, value.byteSize()).copyFrom(value);
      return setInput(index, memory, 0, value.byteSize(), shape);
    }

    @Override
    public Execution setInput(
        int index, SharedMemory memory, long offset, long length, Shape shape) {
      inputs.add(place(memory, offset, length, shape));
      return this;
    }

    @Override
    public Execution setOutput(int index, MemorySegment buffer, Shape shape) {
      SharedMemory memory = allocate(buffer.byteSize());
      copiesBack.add(() -> buffer.copyFrom(memory.segment().asSlice(0, buffer.byteSize())));
      return setOutput(index, memory, 0, buffer.byteSize(), shape);
    }

    @Override
    public Execution setOutput(
        int index, SharedMemory memory, long offset, long length, Shape shape) {
      outputs.add(place(memory, offset, length, shape));
      return this;
    }

    @Override
    public Execution setInput(int index, Memory memory) {
      FakeMemory made = (FakeMemory) memory;
      return setInput(index, made.segment(), made.shape());
    }

    @Override
    public Execution setOutput(int index, Memory memory) {
      FakeMemory made = (FakeMemory) memory;
      return setOutput(index, made.segment(), made.shape());
    }

    private SharedMemory allocate(long size) {
      SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, size);
      own.add(memory);
      return memory;
    }

    private Request.Location place(SharedMemory memory, long offset, long length, Shape shape) {
      pools.add(new MemoryPool.Shared(memory));
      return new Request.Location(pools.size() - 1, offset, length, shape);
    }

    @Override
    public Execution setMeasureTiming(boolean measure) {
      config = config.withMeasureTiming(measure);
      return this;
    }

    @Override
    public Execution setReusable(boolean reusable) {
      return this;
    }

    @Override
    public Execution setTimeout(Duration timeout) {
      throw new UnsupportedOperationException("vectors set no timeout");
    }

    @Override
    public Execution setLoopTimeout(Duration timeout) {
      config = config.withLoopTimeout(timeout);
      return this;
    }

    @Override
    public Execution setPriority(Priority priority) {
      return this;
    }

    @Override
    public Execution setClient(String client) {
      return this;
    }

    @Override
    public void stop() {
      throw new UnsupportedOperationException();
    }

    @Override
    public ExecutionReport compute() {
      ExecutionResult result = prepared.execute(new Request(inputs, outputs, pools), config);
      copiesBack.forEach(Runnable::run);
      own.forEach(SharedMemory::close);
      return switch (result) {
        case ExecutionResult.Completed done ->
            new ExecutionReport(ResultCode.NO_ERROR, "", done.outputs(), done.timing(), List.of());
        case ExecutionResult.OutputInsufficientSize small ->
            new ExecutionReport(
                ResultCode.OUTPUT_INSUFFICIENT_SIZE,
                "too small",
                small.outputs(),
                Timing.NONE,
                List.of());
        case ExecutionResult.Failed failed ->
            ExecutionReport.failed(code(failed.status()), failed.message());
      };
    }

    @Override
    public ExecutionReport burstCompute(Burst burst) {
      return compute();
    }

    @Override
    public CompletableFuture<ExecutionReport> computeAsync() {
      CompletableFuture<ExecutionReport> future = new CompletableFuture<>();
      try {
        future.complete(compute());
      } catch (IllegalStateException e) {
        future.completeExceptionally(e);
      }
      return future;
    }

    @Override
    public CompletableFuture<ExecutionReport> startComputeWithDependencies(
        List<? extends CompletableFuture<ExecutionReport>> waitFor) {
      if (!model.main().output(0).isSizeKnown()) {
        return CompletableFuture.completedFuture(
            ExecutionReport.failed(ResultCode.BAD_DATA, "the outputs are unknown"));
      }
      return CompletableFuture.allOf(waitFor.toArray(CompletableFuture<?>[]::new))
          .thenCompose(nothing -> computeAsync());
    }
  }
}
