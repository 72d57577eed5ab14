// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.kernel;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.benchmarks.engine.Container;
import io.thalamus.driver.Checkpoint;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
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
 * The cost of checkpoints while nobody else wants the device: that of one, in an execution of the
 * runtime that goes on meanwhile; and how many an execution of a model passes, with its time.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class CheckpointBenchmark {
  private static final String NAME = "probe";

  @Param({"simd", "cpu"})
  public String device;

  @Param({"kws_dscnn_int8", "mobilenet_v2_100_224_uint8"})
  public String model;

  private final CompletableFuture<ExecutionConfig> running = new CompletableFuture<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private final List<SharedMemory> memories = new ArrayList<>();
  private volatile long checkpoints;
  private volatile boolean isHeld;
  private Container container;
  private LoadedModel loaded;
  private Compilation compilation;
  private Thread holder;
  private ExecutionConfig config;

  /** A device that counts checkpoints, and holds one execution until the end. */
  private final class Probe extends DelegatingDevice {
    Probe(Device delegate) {
      super(delegate);
    }

    @Override
    public DeviceInfo info() {
      return DeviceInfo.builder("benchmark-" + NAME, "1")
          .type(DeviceType.CPU)
          .capabilities(super.info().capabilities())
          .build();
    }

    @Override
    public PreparedModel prepare(Model graph, PrepareConfig settings) throws DeviceException {
      return new DelegatingPreparedModel(this, super.prepare(graph, settings)) {
        @Override
        public ExecutionResult execute(Request request, ExecutionConfig settings) {
          if (isHeld) {
            isHeld = false;
            hold(settings);
          }
          Counting counting = new Counting(settings.control());
          ExecutionResult result = super.execute(request, settings.with(counting));
          checkpoints = counting.count;
          return result;
        }
      };
    }

    private void hold(ExecutionConfig settings) {
      running.complete(settings);
      try {
        over.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** A control that counts the checkpoints of the thread that executes. */
  private static final class Counting implements ExecutionControl {
    private final ExecutionControl control;
    private long count;

    Counting(ExecutionControl control) {
      this.control = control;
    }

    @Override
    public Signal checkpoint() {
      count++;
      return control.checkpoint();
    }

    @Override
    public Signal status() {
      return control.status();
    }

    @Override
    public boolean isPauseWanted() {
      return control.isPauseWanted();
    }
  }

  /** The checkpoints of the latest execution. */
  @State(Scope.Thread)
  @AuxCounters(AuxCounters.Type.EVENTS)
  public static class Passed {
    public long checkpointsOfOne;

    /** Begins anew. */
    @Setup(Level.Iteration)
    public void reset() {
      checkpointsOfOne = 0;
    }
  }

  /** Starts the product's bundles with the probe, and an execution that goes on. */
  @Setup
  public void prepare() throws Exception {
    container =
        Container.start(
            Path.of(System.getProperty("thalamus.home")),
            Set.copyOf(List.of("cpu", device)),
            Set.of(),
            1);
    Device service = container.service(Device.class, "(thalamus.device=" + device + ")");
    container.register(new Probe(service), NAME);
    NeuralNetworks networks = container.service(NeuralNetworks.class, "(objectClass=*)");
    Path file = ConformanceData.models().orElseThrow().resolve(model).resolve("model.tflite");
    loaded = networks.load(file);
    compilation =
        networks.compile(loaded.model(), CompilationOptions.DEFAULT.withDevices(List.of(NAME)));
    isHeld = true;
    holder = Thread.ofPlatform().name("benchmark-holder").start(this::compute);
    config = running.get(1, TimeUnit.MINUTES);
  }

  private ExecutionReport compute() {
    Execution execution = compilation.createExecution();
    Subgraph main = loaded.model().main();
    for (int i = 0; i < main.inputIndexes().size(); i++) {
      SharedMemory memory = memory(main.input(i).byteSize());
      execution.setInput(i, memory, 0, memory.size(), Shape.NONE);
    }
    for (int i = 0; i < main.outputIndexes().size(); i++) {
      SharedMemory memory = memory(main.output(i).byteSize());
      execution.setOutput(i, memory, 0, memory.size(), Shape.NONE);
    }
    return execution.compute();
  }

  private synchronized SharedMemory memory(long bytes) {
    for (SharedMemory memory : memories) {
      if (memory.size() == bytes) {
        return memory; // what is in it does not matter
      }
    }
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    memories.add(memory);
    return memory;
  }

  /** One checkpoint. */
  @Benchmark
  @OutputTimeUnit(TimeUnit.NANOSECONDS)
  public Object checkpoint() {
    return Checkpoint.pass(config);
  }

  /** One execution, and how many checkpoints it passed. */
  @Benchmark
  @OutputTimeUnit(TimeUnit.MICROSECONDS)
  public ExecutionReport execution(Passed passed) {
    ExecutionReport report = compute();
    if (!report.isSuccess()) {
      throw new IllegalStateException(report.toString());
    }
    passed.checkpointsOfOne = checkpoints;
    return report;
  }

  /** Gives everything back. */
  @TearDown
  public void close() throws Exception {
    over.countDown();
    holder.join();
    compilation.close();
    loaded.close();
    memories.forEach(SharedMemory::close);
    container.close();
  }
}
