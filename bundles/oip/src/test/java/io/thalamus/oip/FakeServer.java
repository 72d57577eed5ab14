// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.api.Compilation;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.Durations;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Timing;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelMetadata;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ModelStatistics.Total;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServerMetadata;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A server with one model, {@code echo}, whose outputs are its inputs, whatever their datatypes and
 * shapes: input {@code x} is given back as output {@code x}. Keeps the last request. Thread-safe as
 * far as tests use it.
 */
final class FakeServer implements InferenceServer {
  /** Requests that were refused while they were read. */
  final List<String> refused = new CopyOnWriteArrayList<>();

  static final TensorMetadata PICTURE =
      new TensorMetadata("x", Datatype.INT8, List.of(-1L, 2L), Quantization.of(0.5f, 3));

  /** The failure that takes the place of an answer; null for none. */
  volatile ServingException failure;

  /** True if requests wait until they are cancelled. */
  volatile boolean isWaiting;

  volatile boolean isReady = true;

  /** True if all devices measure the time of their hardware. */
  volatile boolean isHardwareMeasured;

  /** The values that a request needs more than once, as an output of unknown size does. */
  volatile int growth = 1;

  volatile List<TensorMetadata> inputs = List.of(PICTURE);

  volatile InferenceRequest last;

  /** The addresses of the inputs' values. */
  final List<MemorySegment> values = new ArrayList<>();

  final CompletableFuture<Void> arrived = new CompletableFuture<>();
  final CompletableFuture<Void> cancelled = new CompletableFuture<>();
  final List<String> calls = new ArrayList<>();
  final Map<String, MemorySegment> regions = new TreeMap<>();

  @Override
  public boolean isLive() {
    return true;
  }

  @Override
  public boolean isReady() {
    return isReady;
  }

  @Override
  public boolean isReady(String model, Optional<String> version) throws ServingException {
    if (!model.equals("echo") || !version.orElse("3").equals("3")) {
      throw new ServingException(
          Failure.NOT_FOUND, "there is no " + model + " " + version.orElse("at all"));
    }
    return isReady;
  }

  @Override
  public ServerMetadata metadata() {
    return new ServerMetadata("fake", "1.2", List.of("binary_tensor_data"));
  }

  @Override
  public ModelMetadata metadata(String model, Optional<String> version) throws ServingException {
    isReady(model, version);
    return new ModelMetadata(
        "echo", List.of("2", "3"), "3", "onnx", "abcd", inputs, List.of(PICTURE));
  }

  @Override
  public Compilation compilation(String model, Optional<String> version) {
    throw new UnsupportedOperationException("nothing is compiled");
  }

  @Override
  public PendingInference infer(InferenceRequest request) {
    last = request;
    values.clear();
    request.inputs().forEach(input -> values.add(input.value()));
    CompletableFuture<InferenceResponse> completion = new CompletableFuture<>();
    if (isWaiting) {
      arrived.complete(null);
    } else {
      complete(request, completion);
    }
    return new PendingInference() {
      @Override
      public CompletableFuture<InferenceResponse> completion() {
        return completion;
      }

      @Override
      public void cancel() {
        if (completion.completeExceptionally(
            new ServingException(Failure.CANCELLED, "cancelled"))) {
          cancelled.complete(null);
        }
      }
    };
  }

  private static StepReport measured(String device, Optional<Duration> onHardware) {
    Optional<Duration> inDriver = Optional.of(Duration.ofNanos(7_500));
    return new StepReport(
        device,
        1,
        Duration.ofMillis(1),
        ResultCode.NO_ERROR,
        false,
        false,
        Optional.of(new Durations(onHardware, inDriver, Optional.empty(), Optional.empty())));
  }

  private void complete(InferenceRequest request, CompletableFuture<InferenceResponse> completion) {
    try {
      if (failure != null) {
        throw failure;
      }
      List<InferenceResponse.Output> outputs = new ArrayList<>();
      for (Input input : request.inputs()) {
        if (request.outputs().isEmpty() || request.outputs().contains(input.name())) {
          TensorMetadata metadata =
              new TensorMetadata(
                  input.name(),
                  input.datatype(),
                  growth > 1 ? List.of(-1L) : input.shape(),
                  Quantization.NONE);
          long bytes = input.value().byteSize();
          MemorySegment value = MemorySegment.NULL;
          for (int i = 0; i < growth; i++) {
            value = request.allocator().allocate(metadata, Math.max(1, bytes));
          }
          value = value.asSlice(0, bytes).copyFrom(input.value());
          outputs.add(new InferenceResponse.Output(metadata, input.shape(), value));
        }
      }
      List<StepReport> steps =
          List.of(
              new StepReport("npu", 1, Duration.ofMillis(1), ResultCode.DEAD_OBJECT),
              measured("cpu", Optional.of(Duration.ofNanos(2_500))),
              measured("simd", isHardwareMeasured ? Optional.of(Duration.ZERO) : Optional.empty()));
      ExecutionReport report =
          new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, steps);
      completion.complete(
          new InferenceResponse(
              "echo",
              "3",
              request.id(),
              outputs,
              report,
              2,
              new RequestTimes(9_000_000, 2_000_000, 500, 3_000_000, 500)));
    } catch (ServingException e) {
      completion.completeExceptionally(e);
    }
  }

  @Override
  public void refused(String model, long arrivalNanos, ServingException thrown) {
    refused.add(model + ": " + thrown.getMessage());
  }

  @Override
  public List<IndexEntry> index() {
    return List.of(
        new IndexEntry("echo", "3", isReady ? ModelState.READY : ModelState.LOADING, "", "abcd"),
        new IndexEntry("echo", "4", ModelState.UNAVAILABLE, "model.onnx: it is \"bad\"", ""));
  }

  @Override
  public void load(String model) throws ServingException {
    isReady(model, Optional.empty());
    calls.add("load " + model);
  }

  @Override
  public void unload(String model) throws ServingException {
    isReady(model, Optional.empty());
    calls.add("unload " + model);
  }

  @Override
  public List<ModelStatistics> statistics(Optional<String> model, Optional<String> version)
      throws ServingException {
    isReady(model.orElse("echo"), version);
    Total total = new Total(5, 1_000);
    return List.of(
        new ModelStatistics(
            "echo", "3", 77, 5, 6, 1, total, total, total, total, total, total, total));
  }

  @Override
  public SharedRegions sharedRegions() {
    return new SharedRegions() {
      @Override
      public void register(String name, String key, long offset, long byteSize) {
        calls.add("register " + name + " " + key + " " + offset + " " + byteSize);
        regions.put(name, Arena.ofAuto().allocate(byteSize));
      }

      @Override
      public void unregister(String name) {
        calls.add("unregister " + name);
      }

      @Override
      public List<Region> status(String name) {
        return List.of(new Region("r", "/key", 4, 8));
      }

      @Override
      public MemorySegment segment(String name, long offset, long byteSize)
          throws ServingException {
        MemorySegment region = regions.get(name);
        if (region == null) {
          throw new ServingException(Failure.NOT_FOUND, "no region '" + name + "'");
        }
        return region.asSlice(offset, byteSize);
      }
    };
  }
}
