// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Priority;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Timing;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ReadOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * Networks whose model files are texts: {@code times 3} is a model from {@code x}, any number of
 * rows of two floats, to {@code y}, three times as much; {@code sum} adds the float {@code x} to
 * the float {@code s}, which gives {@code t}, and {@code y} twice as much, where {@code sum 5} lets
 * {@code s} begin with 5; {@code open 3} is {@code times 3} in a file that is read for one row
 * unless somebody wants others, {@link #mostRows} at most. What else there is cannot be read. Knows
 * what is open. Thread-safe.
 */
final class FakeNetworks {
  static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

  volatile int mostRows = 100;

  /** What each compilation holds beside what it shares. */
  volatile long ownBytes = 1_000;

  volatile String format = "TensorFlow Lite";

  /** Called instead of an execution, which it may begin by {@link Run#run}. */
  @FunctionalInterface
  interface Hook {
    CompletableFuture<ExecutionReport> start(Run run);
  }

  final AtomicInteger open = new AtomicInteger();
  final AtomicInteger executions = new AtomicInteger();
  final AtomicInteger executionsByBurst = new AtomicInteger();
  private final Set<Burst> busy = ConcurrentHashMap.newKeySet();
  final AtomicInteger loads = new AtomicInteger();
  final AtomicInteger compilations = new AtomicInteger();

  /** The bursts that are open. */
  final Set<Burst> bursts = ConcurrentHashMap.newKeySet();

  /** Called instead of an execution by burst. */
  volatile Function<Run, ExecutionReport> byBurst = Run::run;

  /** Called after a file was read. */
  volatile Runnable onLoad = () -> {};

  /** The executions in the thread of the caller. */
  volatile Function<Run, ExecutionReport> warmUp = Run::run;

  volatile Hook hook = run -> CompletableFuture.completedFuture(run.run());

  /** An execution as it was started. */
  static final class Run {
    /** NaN for {@code sum}. */
    final float factor;

    final MemorySegment[] inputs = new MemorySegment[2];
    final MemorySegment[] outputs = new MemorySegment[2];
    Shape shape;
    Optional<Duration> timeout = Optional.empty();
    Priority priority;
    String client;
    boolean isMeasured;
    volatile Runnable onStop = () -> {};

    Run(float factor, Shape shape) {
      this.factor = factor;
      this.shape = shape;
    }

    private ExecutionReport sum() {
      float sum = inputs[0].get(FLOAT, 0) + inputs[1].get(FLOAT, 0);
      outputs[1].set(FLOAT, 0, sum);
      if (outputs[0].byteSize() > 0) {
        outputs[0].set(FLOAT, 0, 2 * sum);
      }
      OutputShape one = new OutputShape(Shape.of(1), true);
      return new ExecutionReport(
          ResultCode.NO_ERROR, "", List.of(one, one), Timing.NONE, List.of());
    }

    ExecutionReport run() {
      if (Float.isNaN(factor)) {
        return sum();
      }
      MemorySegment input = inputs[0];
      MemorySegment output = outputs[0];
      Shape result = Shape.of(shape.dimension(0), 2);
      boolean isSufficient = output.byteSize() >= input.byteSize();
      for (long at = 0; isSufficient && at < input.byteSize(); at += Float.BYTES) {
        output.set(FLOAT, at, factor * input.get(FLOAT, at));
      }
      return new ExecutionReport(
          isSufficient ? ResultCode.NO_ERROR : ResultCode.OUTPUT_INSUFFICIENT_SIZE,
          isSufficient ? "" : "y is too small",
          List.of(new OutputShape(result, isSufficient)),
          Timing.NONE,
          List.of());
    }
  }

  NeuralNetworks networks() {
    return proxy(
        NeuralNetworks.class,
        (proxy, method, arguments) ->
            switch (method.getName()) {
              case "load" -> load((Path) arguments[0]);
              case "compile" -> compile((Model) arguments[0]);
              default -> throw new UnsupportedOperationException(method.getName());
            });
  }

  static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            FakeNetworks.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private LoadedModel load(Path path) throws NeuralNetworksException {
    loads.incrementAndGet();
    byte[] bytes;
    byte[] digest;
    try {
      bytes = Files.readAllBytes(path);
      digest = MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (IOException | NoSuchAlgorithmException e) {
      throw new NeuralNetworksException(ResultCode.UNMAPPABLE, "cannot open " + path, e);
    }
    onLoad.run();
    String text = new String(bytes, StandardCharsets.UTF_8);
    if (!text.startsWith("times ") && !text.startsWith("open ") && !text.startsWith("sum")) {
      throw new NeuralNetworksException(ResultCode.BAD_DATA, path + ": damaged at\nbyte 0");
    }
    return read(path.toString(), text, digest, ReadOptions.DEFAULT);
  }

  private LoadedModel read(String name, String text, byte[] digest, ReadOptions options)
      throws NeuralNetworksException {
    boolean isSum = text.startsWith("sum");
    boolean isOpen = text.startsWith("open ");
    Shape open = Shape.of(0, 2);
    Shape shape =
        isSum ? Shape.of(1) : isOpen ? options.shapes().getOrDefault("x", Shape.of(1, 2)) : open;
    if (isOpen && shape.dimension(0) > mostRows) {
      throw new NeuralNetworksException(ResultCode.BAD_DATA, name + ": too many rows for it");
    }
    SubgraphBuilder graph = new SubgraphBuilder();
    graph.input("x", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    if (isSum) {
      graph.input("s", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
      graph.output("t", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    }
    graph.float32(isSum ? Float.NaN : Float.parseFloat(text.split(" ")[1].strip()));
    Model model = Model.of(graph.build());
    ModelFile plain = ModelFile.of(model, format);
    ModelFile file =
        isOpen
            ? plain.withOpenInputs(Map.of(0, open))
            : isSum && text.contains(" ") ? plain.withFirstValues(Map.of(1, number(text))) : plain;
    this.open.incrementAndGet();
    return proxy(
        LoadedModel.class,
        (proxy, method, arguments) ->
            switch (method.getName()) {
              case "model" -> model;
              case "file" -> file;
              case "options" -> options;
              case "with" -> read(name, text, digest, (ReadOptions) arguments[0]);
              case "digest" -> digest.clone();
              case "close" -> {
                this.open.decrementAndGet();
                yield null;
              }
              default -> throw new UnsupportedOperationException(method.getName());
            });
  }

  private static ConstantCopy number(String text) {
    byte[] bytes = new byte[Float.BYTES];
    MemorySegment.ofArray(bytes).set(FLOAT, 0, Float.parseFloat(text.split(" ")[1].strip()));
    return new ConstantCopy(bytes);
  }

  private Compilation compile(Model model) {
    float factor =
        MemorySegment.ofArray(((ConstantCopy) model.main().operands().getLast().lifetime()).value())
            .get(FLOAT, 0);
    open.incrementAndGet();
    compilations.incrementAndGet();
    boolean[] closed = new boolean[1];
    Set<Burst> own = ConcurrentHashMap.newKeySet();
    return proxy(
        Compilation.class,
        (proxy, method, arguments) -> {
          if (closed[0]) {
            throw new IllegalStateException("it is closed");
          }
          return switch (method.getName()) {
            case "model" -> model;
            case "ownBytes" -> ownBytes;
            case "createExecution" -> execution(factor, model.main().input(0).shape());
            case "createBurst" -> {
              Burst burst = burst();
              own.add(burst);
              yield burst;
            }
            case "close" -> {
              closed[0] = true;
              own.forEach(Burst::close);
              open.decrementAndGet();
              yield null;
            }
            default -> throw new UnsupportedOperationException(method.getName());
          };
        });
  }

  private Burst burst() {
    Burst[] self = new Burst[1];
    self[0] =
        proxy(
            Burst.class,
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "describe" -> new BurstInfo(1, 0, 0, 0, Map.of());
                  case "close" -> {
                    bursts.remove(self[0]);
                    yield null;
                  }
                  case "hashCode" -> System.identityHashCode(proxy);
                  case "equals" -> proxy == arguments[0];
                  default -> throw new UnsupportedOperationException(method.getName());
                });
    bursts.add(self[0]);
    return self[0];
  }

  /** Executes as a burst of depth 1 does: one at a time, and none when it is closed. */
  private ExecutionReport burstCompute(Burst burst, Run run) {
    if (!bursts.contains(burst) || !busy.add(burst)) {
      return ExecutionReport.failed(ResultCode.BAD_STATE, "the burst is closed or busy");
    }
    try {
      executionsByBurst.incrementAndGet();
      return byBurst.apply(run);
    } finally {
      busy.remove(burst);
    }
  }

  private Execution execution(float factor, Shape fixed) {
    Run run = new Run(factor, fixed);
    return proxy(
        Execution.class,
        (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "setInput" -> {
              run.inputs[(int) arguments[0]] = (MemorySegment) arguments[1];
              run.shape =
                  arguments.length > 2 && !arguments[2].equals(Shape.NONE)
                      ? (Shape) arguments[2]
                      : run.shape;
            }
            case "setOutput" -> run.outputs[(int) arguments[0]] = (MemorySegment) arguments[1];
            case "setTimeout" -> run.timeout = Optional.of((Duration) arguments[0]);
            case "setPriority" -> run.priority = (Priority) arguments[0];
            case "setMeasureSteps" -> run.isMeasured = (boolean) arguments[0];
            case "setClient" -> run.client = (String) arguments[0];
            case "stop" -> {
              run.onStop.run();
              return null;
            }
            case "burstCompute" -> {
              return burstCompute((Burst) arguments[0], run);
            }
            case "setReusable" -> {
              // As each of these is.
            }
            case "compute" -> {
              return warmUp.apply(run);
            }
            case "computeAsync" -> {
              executions.incrementAndGet();
              return hook.start(run);
            }
            default -> throw new UnsupportedOperationException(method.getName());
          }
          return proxy;
        });
  }
}
