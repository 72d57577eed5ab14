// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A compilation whose executions are functions of a test, and memories that know whether they are
 * closed. Thread-safe.
 */
final class FakeNetworks {
  /** The work of an execution on its inputs and outputs. */
  interface Kernel {
    ExecutionReport execute(MemorySegment[] inputs, MemorySegment[] outputs) throws Exception;
  }

  final AtomicInteger openBursts = new AtomicInteger();
  final AtomicInteger openMemories = new AtomicInteger();
  final AtomicInteger executions = new AtomicInteger();
  final List<MemoryDesc> descs = new ArrayList<>();
  volatile ResultCode refusal = ResultCode.NO_ERROR;
  volatile BurstOptions burstOptions;
  volatile boolean isCompilationClosed;
  volatile Duration timeout;

  private final Model model;
  private final Kernel kernel;
  private final List<SharedMemory> lent = new ArrayList<>();

  FakeNetworks(Subgraph graph, Kernel kernel) {
    this.model = Model.of(graph);
    this.kernel = kernel;
  }

  /** A report of a success. */
  static ExecutionReport done(Shape... outputs) {
    List<OutputShape> shapes = new ArrayList<>();
    for (Shape shape : outputs) {
      shapes.add(new OutputShape(shape, true));
    }
    return new ExecutionReport(ResultCode.NO_ERROR, "", shapes, Timing.NONE, List.of());
  }

  /** Returns whether all shared memory that executions were given is closed. */
  synchronized boolean isAllUnmapped() {
    return lent.stream()
        .noneMatch(
            memory -> {
              try {
                memory.lend().close();
                return true;
              } catch (IllegalStateException e) {
                return false;
              }
            });
  }

  private synchronized void keep(SharedMemory memory) {
    if (!lent.contains(memory)) {
      lent.add(memory);
    }
  }

  /** The part of the entrance that streams use. */
  NeuralNetworks networks() {
    return (NeuralNetworks)
        Proxy.newProxyInstance(
            FakeNetworks.class.getClassLoader(),
            new Class<?>[] {NeuralNetworks.class},
            (proxy, method, arguments) -> {
              if (!method.getName().equals("createMemory")) {
                throw new UnsupportedOperationException(method.getName());
              }
              return createMemory((MemoryDesc) arguments[0]);
            });
  }

  private Memory createMemory(MemoryDesc desc) throws NeuralNetworksException {
    descs.add(desc);
    if (refusal != ResultCode.NO_ERROR) {
      throw new NeuralNetworksException(refusal, "the test has no room");
    }
    openMemories.incrementAndGet();
    int input = desc.roles().getFirst().index();
    return new HeapMemory(new byte[Math.toIntExact(model.main().input(input).byteSize())]);
  }

  Compilation compilation() {
    return new FakeCompilation();
  }

  private final class HeapMemory implements Memory {
    private final byte[] bytes;
    private boolean isClosed;

    HeapMemory(byte[] bytes) {
      this.bytes = bytes;
    }

    @Override
    public String name() {
      return "heap";
    }

    @Override
    public void copyFrom(MemorySegment source, Shape shape) {
      MemorySegment.ofArray(bytes).copyFrom(source);
    }

    @Override
    public void copyFrom(Memory source) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void copyTo(MemorySegment destination) {
      destination.copyFrom(MemorySegment.ofArray(bytes));
    }

    @Override
    public void save(Path file) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void restore(Path file) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MemoryInfo describe() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      if (!isClosed) {
        isClosed = true;
        openMemories.decrementAndGet();
      }
    }
  }

  private final class FakeCompilation implements Compilation {
    @Override
    public Model model() {
      return model;
    }

    @Override
    public Plan plan() {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isReplanning() {
      return false;
    }

    @Override
    public List<CacheOutcome> caching() {
      return List.of();
    }

    @Override
    public Execution createExecution() {
      requireOpen();
      return new FakeExecution();
    }

    @Override
    public Burst createBurst(BurstOptions options) {
      requireOpen();
      burstOptions = options;
      openBursts.incrementAndGet();
      return new FakeBurst(options.depth());
    }

    private void requireOpen() {
      if (isCompilationClosed) {
        throw new IllegalStateException("it is closed");
      }
    }

    @Override
    public void close() {
      isCompilationClosed = true;
    }
  }

  private final class FakeBurst implements Burst {
    private final int depth;
    private final AtomicInteger running = new AtomicInteger();

    FakeBurst(int depth) {
      this.depth = depth;
    }

    @Override
    public BurstInfo describe() {
      return new BurstInfo(depth, executions.get(), 0, 0, Map.of());
    }

    @Override
    public void close() {
      openBursts.decrementAndGet();
    }
  }

  private final class FakeExecution implements Execution {
    private final MemorySegment[] inputs = new MemorySegment[model.main().inputIndexes().size()];
    private final MemorySegment[] outputs = new MemorySegment[model.main().outputIndexes().size()];

    @Override
    public Execution setInput(int index, MemorySegment value, Shape shape) {
      throw new UnsupportedOperationException("it would be copied");
    }

    @Override
    public Execution setOutput(int index, MemorySegment buffer, Shape shape) {
      throw new UnsupportedOperationException("it would be copied");
    }

    @Override
    public Execution setInput(
        int index, SharedMemory memory, long offset, long length, Shape shape) {
      keep(memory);
      inputs[index] = memory.segment().asSlice(offset, length);
      return this;
    }

    @Override
    public Execution setOutput(
        int index, SharedMemory memory, long offset, long length, Shape shape) {
      keep(memory);
      outputs[index] = memory.segment().asSlice(offset, length);
      return this;
    }

    @Override
    public Execution setInput(int index, Memory memory) {
      inputs[index] = MemorySegment.ofArray(((HeapMemory) memory).bytes);
      return this;
    }

    @Override
    public Execution setOutput(int index, Memory memory) {
      outputs[index] = MemorySegment.ofArray(((HeapMemory) memory).bytes);
      return this;
    }

    @Override
    public Execution setMeasureTiming(boolean measure) {
      throw new UnsupportedOperationException();
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
      throw new UnsupportedOperationException();
    }

    @Override
    public Execution setPriority(Priority priority) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Execution setClient(String client) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void stop() {
      throw new UnsupportedOperationException();
    }

    @Override
    public ExecutionReport compute() {
      throw new UnsupportedOperationException("it is no burst");
    }

    @Override
    public ExecutionReport burstCompute(Burst burst) {
      FakeBurst fake = (FakeBurst) burst;
      if (fake.running.incrementAndGet() > fake.depth) {
        return ExecutionReport.failed(ResultCode.BAD_STATE, "the burst is busy");
      }
      try {
        return kernel.execute(inputs, outputs);
      } catch (Exception e) {
        return ExecutionReport.failed(ResultCode.OP_FAILED, String.valueOf(e.getMessage()));
      } finally {
        executions.incrementAndGet();
        fake.running.decrementAndGet();
      }
    }

    @Override
    public CompletableFuture<ExecutionReport> computeAsync() {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ExecutionReport> startComputeWithDependencies(
        List<? extends CompletableFuture<ExecutionReport>> waitFor) {
      throw new UnsupportedOperationException();
    }
  }
}
