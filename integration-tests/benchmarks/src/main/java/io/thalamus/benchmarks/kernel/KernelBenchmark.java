// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.kernel;

import io.thalamus.benchmarks.engine.Container;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A kernel of one device through the driver interface; the CPU device has the scalar twin of each.
 * {@code integration-tests/run kernels -p device=simd -p kernel=ADD_56X56_256} runs some of them.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
public class KernelBenchmark {
  private static final long SEED = 11;

  @Param({"simd", "cpu"})
  public String device;

  @Param({"TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"})
  public OperandCode type;

  @Param public Kernel kernel;

  @Param("1")
  public int threads;

  private Container container;
  private SingleOperation operation;
  private PreparedModel prepared;
  private Request request;
  private final List<SharedMemory> memories = new ArrayList<>();

  /** Starts the product's bundles and prepares the operation. */
  @Setup
  public void prepare() throws Exception {
    container =
        Container.start(
            Path.of(System.getProperty("thalamus.home")),
            Set.copyOf(List.of("cpu", device)),
            Set.of(),
            threads);
    Device service = container.service(Device.class, "(thalamus.device=" + device + ")");
    operation = new SingleOperation(kernel, type);
    Model model = operation.model();
    if (service.supportedOperations(model).isEmpty()) {
      throw new IllegalStateException(device + " does not claim " + kernel + " of " + type);
    }
    prepared = service.prepare(model, PrepareConfig.DEFAULT);
    request = request(model.main());
  }

  private Request request(Subgraph graph) {
    List<Request.Argument> inputs = new ArrayList<>();
    List<Request.Argument> outputs = new ArrayList<>();
    List<MemoryPool> pools = new ArrayList<>();
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < graph.inputIndexes().size(); i++) {
      SharedMemory memory = memory(graph.input(i).byteSize());
      fill(memory, random);
      inputs.add(new Request.Location(pools.size(), 0, memory.size(), Shape.NONE));
      pools.add(new MemoryPool.Shared(memory));
    }
    SharedMemory memory = memory(graph.output(0).byteSize());
    outputs.add(new Request.Location(pools.size(), 0, memory.size(), Shape.NONE));
    pools.add(new MemoryPool.Shared(memory));
    return new Request(inputs, outputs, pools);
  }

  private void fill(SharedMemory memory, SplittableRandom random) {
    if (type == OperandCode.TENSOR_FLOAT32) {
      for (long i = 0; i < memory.size() / Float.BYTES; i++) {
        memory
            .segment()
            .setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, (float) random.nextDouble(-1, 1));
      }
    } else {
      for (long i = 0; i < memory.size(); i++) {
        memory.segment().set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
      }
    }
  }

  private SharedMemory memory(long bytes) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    memories.add(memory);
    return memory;
  }

  /** One execution. */
  @Benchmark
  public ExecutionResult execute() {
    ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
    if (!(result instanceof ExecutionResult.Completed)) {
      throw new IllegalStateException(result.toString());
    }
    return result;
  }

  /** Gives everything back. */
  @TearDown
  public void close() {
    prepared.close();
    operation.close();
    memories.forEach(SharedMemory::close);
    container.close();
  }
}
