// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.Plan.Crossing;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.Plan.Step;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ReadOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A runtime whose models are given by file name and whose outputs are given by the test. */
final class FakeNetworks implements NeuralNetworks {
  final Map<String, ModelFile> files = new HashMap<>();
  final Map<Integer, byte[]> outputs = new HashMap<>();
  final Map<Integer, Shape> outputShapes = new HashMap<>();
  final List<byte[]> inputs = new ArrayList<>();
  final List<Shape> inputShapes = new ArrayList<>();
  final List<CompilationOptions> compiled = new ArrayList<>();
  final List<CompilationOptions> planned = new ArrayList<>();
  List<CacheOutcome> caching = List.of();
  final AtomicInteger open = new AtomicInteger();
  List<DeviceDescription> devices =
      List.of(device("cpu", 1, DeviceDescription.State.AVAILABLE, ""));
  List<StepReport> steps =
      List.of(new StepReport("cpu", 3, Duration.ofMillis(2), ResultCode.NO_ERROR));
  List<MemoryInfo> memories = List.of();
  ExecutionReport failure;
  ExecutionReport.CopiedBytes copied = ExecutionReport.CopiedBytes.NONE;
  Duration timeout;
  int executions;
  int inputsInPlace;

  static DeviceDescription device(
      String id, float cost, DeviceDescription.State state, String reason) {
    return device(id, cost, state, reason, DeviceHealth.GOOD);
  }

  static DeviceDescription device(
      String id, float cost, DeviceDescription.State state, String reason, DeviceHealth health) {
    DeviceInfo info =
        DeviceInfo.builder("thalamus-" + id, "0.1.0")
            .capabilities(
                new Capabilities(
                    PerformanceInfo.of(cost),
                    PerformanceInfo.of(cost),
                    Map.of(
                        OperandCode.TENSOR_FLOAT32,
                        PerformanceInfo.of(cost),
                        OperandCode.TENSOR_QUANT8_ASYMM,
                        PerformanceInfo.of(cost)),
                    PerformanceInfo.of(cost),
                    PerformanceInfo.UNSUPPORTED))
            .cacheNeeds(new CacheNeeds(1, 2))
            .memoryKinds(EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD))
            .extensions(Set.of("io.thalamus"))
            .exactQuantized(true)
            .build();
    return new DeviceDescription(id, info, state, reason, health);
  }

  @Override
  public List<DeviceDescription> devices() {
    return devices;
  }

  @Override
  public LoadedModel load(String name, MemorySegment bytes, ReadOptions options) {
    throw new UnsupportedOperationException("commands load files");
  }

  @Override
  public LoadedModel load(Path file, ReadOptions options) throws NeuralNetworksException {
    ModelFile known = files.get(file.getFileName().toString());
    if (known == null) {
      throw new NeuralNetworksException(
          Files.exists(file) ? ResultCode.BAD_DATA : ResultCode.UNMAPPABLE,
          "cannot load " + file.getFileName());
    }
    CacheToken token = token(file);
    open.incrementAndGet();
    return new LoadedModel() {
      @Override
      public Path path() {
        return file;
      }

      @Override
      public ModelFile file() {
        return known;
      }

      @Override
      public ReadOptions options() {
        return options;
      }

      @Override
      public LoadedModel with(ReadOptions other) throws NeuralNetworksException {
        return load(file, other);
      }

      @Override
      public CacheToken token() {
        return token;
      }

      @Override
      public byte[] digest() {
        return token.toArray();
      }

      @Override
      public void close() {
        open.decrementAndGet();
      }
    };
  }

  private static CacheToken token(Path file) {
    try {
      byte[] bytes = Files.exists(file) ? Files.readAllBytes(file) : new byte[0];
      return CacheToken.of(Digests.sha256().digest(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public BitSet supportedOperations(Model model, List<String> devices) {
    BitSet all = new BitSet();
    all.set(0, model.main().operations().size());
    return all;
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
    planned.add(options);
    List<PlannedOperation> operations = new ArrayList<>();
    List<Integer> indexes = new ArrayList<>();
    for (int i = 0; i < model.main().operations().size(); i++) {
      operations.add(
          new PlannedOperation(
              0, i, model.main().operations().get(i).type(), "cpu", Map.of("cpu", 1.0)));
      indexes.add(i);
    }
    Step step =
        new Step(
            "cpu",
            0,
            indexes,
            List.of(new Crossing(model.main().inputIndexes().getFirst(), "input", 12)),
            List.of(new Crossing(model.main().outputIndexes().getFirst(), "output", 40)));
    return new Plan("greedy", operations, List.of(step));
  }

  @Override
  public Memory createMemory(MemoryDesc desc) {
    throw new UnsupportedOperationException("the fake makes no memories");
  }

  @Override
  public List<MemoryInfo> memories() {
    return memories;
  }

  @Override
  public Compilation compile(Model model, CompilationOptions options)
      throws NeuralNetworksException {
    for (String device : options.devices()) {
      if (devices.stream().noneMatch(known -> known.id().equals(device))) {
        throw new NeuralNetworksException(ResultCode.BAD_DATA, "no device " + device + " is here");
      }
    }
    compiled.add(options);
    open.incrementAndGet();
    return new FakeCompilation(model, options);
  }

  private final class FakeCompilation implements Compilation {
    private final Model model;
    private final CompilationOptions options;

    FakeCompilation(Model model, CompilationOptions options) {
      this.model = model;
      this.options = options;
    }

    @Override
    public Model model() {
      return model;
    }

    @Override
    public Plan plan() {
      return FakeNetworks.this.plan(model, options);
    }

    @Override
    public List<CacheOutcome> caching() {
      return caching;
    }

    @Override
    public boolean isReplanning() {
      return false;
    }

    @Override
    public Execution createExecution() {
      return new FakeExecution();
    }

    @Override
    public Burst createBurst(BurstOptions wishes) {
      open.incrementAndGet();
      return new FakeBurst();
    }

    @Override
    public void close() {
      open.decrementAndGet();
    }
  }

  /** Sends all but the first execution. */
  private final class FakeBurst implements Burst {
    private long executions;

    @Override
    public BurstInfo describe() {
      return new BurstInfo(
          1, executions, executions - 1, executions - 1, Map.of("the first is odd", 1L));
    }

    @Override
    public void close() {
      open.decrementAndGet();
    }
  }

  /** Copies what it is given and gives what the test wants. */
  private final class FakeExecution implements Execution {
    private final Map<Integer, MemorySegment> buffers = new HashMap<>();

    @Override
    public Execution setInput(int index, MemorySegment value, Shape shape) {
      if (index == 0) {
        inputs.clear();
        inputShapes.clear();
      }
      inputs.add(value.toArray(ValueLayout.JAVA_BYTE));
      inputShapes.add(shape);
      return this;
    }

    @Override
    public Execution setInput(
        int index, SharedMemory memory, long offset, long length, Shape shape) {
      inputsInPlace++;
      return setInput(index, memory.segment().asSlice(offset, length), shape);
    }

    @Override
    public Execution setOutput(int index, MemorySegment buffer, Shape shape) {
      buffers.put(index, buffer);
      return this;
    }

    @Override
    public Execution setOutput(
        int index, SharedMemory memory, long offset, long length, Shape shape) {
      throw new UnsupportedOperationException("the fake takes segments only");
    }

    @Override
    public Execution setInput(int index, Memory memory) {
      throw new UnsupportedOperationException("the fake takes segments only");
    }

    @Override
    public Execution setOutput(int index, Memory memory) {
      throw new UnsupportedOperationException("the fake takes segments only");
    }

    @Override
    public Execution setMeasureTiming(boolean measure) {
      return this;
    }

    @Override
    public Execution setReusable(boolean reusable) {
      return this;
    }

    @Override
    public Execution setTimeout(Duration value) {
      timeout = value;
      return this;
    }

    @Override
    public Execution setLoopTimeout(Duration value) {
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
    public ExecutionReport burstCompute(Burst burst) {
      ((FakeBurst) burst).executions++;
      return compute();
    }

    @Override
    public ExecutionReport compute() {
      executions++;
      if (failure != null) {
        return failure;
      }
      List<OutputShape> shapes = new ArrayList<>();
      boolean sufficient = true;
      for (int i = 0; i < buffers.size(); i++) {
        boolean fits = buffers.get(i).byteSize() >= outputs.get(i).length;
        sufficient &= fits;
        shapes.add(new OutputShape(outputShapes.get(i), fits));
      }
      if (!sufficient) {
        return new ExecutionReport(
            ResultCode.OUTPUT_INSUFFICIENT_SIZE, "too small", shapes, Timing.NONE, List.of());
      }
      for (int i = 0; i < buffers.size(); i++) {
        MemorySegment.copy(
            MemorySegment.ofArray(outputs.get(i)), 0, buffers.get(i), 0, outputs.get(i).length);
      }
      return new ExecutionReport(ResultCode.NO_ERROR, "", shapes, Timing.NONE, steps, copied);
    }

    @Override
    public CompletableFuture<ExecutionReport> computeAsync() {
      return CompletableFuture.completedFuture(compute());
    }

    @Override
    public CompletableFuture<ExecutionReport> startComputeWithDependencies(
        List<? extends CompletableFuture<ExecutionReport>> waitFor) {
      return computeAsync();
    }
  }
}
