// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

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
import io.thalamus.serving.InferenceStream;
import io.thalamus.serving.ModelMetadata;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ModelStatistics.Total;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServerMetadata;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server with the model {@code echo}, whose outputs are its inputs, with {@code _out} behind the
 * name. Thread-safe.
 */
final class FakeServer implements InferenceServer, InferenceServer.SharedRegions {
  /** Requests that were refused while they were read. */
  final List<String> refused = new CopyOnWriteArrayList<>();

  /** The requests that came, in order. */
  final LinkedBlockingQueue<InferenceRequest> requests = new LinkedBlockingQueue<>();

  /** Those that wait, as {@link #isSlow} has them. */
  final LinkedBlockingQueue<Pending> waiting = new LinkedBlockingQueue<>();

  /** True if requests wait until a test ends them. */
  volatile boolean isSlow;

  /** Fails each request, if it is there. */
  volatile Optional<ServingException> failure = Optional.empty();

  /** The streams that are open. */
  final AtomicInteger streams = new AtomicInteger();

  private volatile boolean isLoaded;
  private final List<Region> regions = new ArrayList<>();

  /** A request that waits. */
  static final class Pending implements PendingInference {
    final InferenceRequest request;
    final CompletableFuture<InferenceResponse> completion = new CompletableFuture<>();
    final CompletableFuture<Void> cancelled = new CompletableFuture<>();

    Pending(InferenceRequest request) {
      this.request = request;
    }

    @Override
    public CompletableFuture<InferenceResponse> completion() {
      return completion;
    }

    @Override
    public void cancel() {
      cancelled.complete(null);
      completion.completeExceptionally(
          new ServingException(Failure.CANCELLED, "the client has cancelled the request"));
    }

    void end() {
      try {
        completion.complete(echo(request));
      } catch (ServingException e) {
        completion.completeExceptionally(e);
      }
    }
  }

  private static InferenceResponse echo(InferenceRequest request) throws ServingException {
    List<InferenceResponse.Output> outputs = new ArrayList<>();
    for (Input input : request.inputs()) {
      String name = input.name() + "_out";
      if (request.outputs().isEmpty() || request.outputs().contains(name)) {
        TensorMetadata tensor =
            new TensorMetadata(name, input.datatype(), input.shape(), Quantization.NONE);
        MemorySegment value =
            request.allocator().allocate(tensor, Math.max(1, input.value().byteSize()));
        MemorySegment.copy(input.value(), 0, value, 0, input.value().byteSize());
        outputs.add(
            new InferenceResponse.Output(
                tensor, input.shape(), value.asSlice(0, input.value().byteSize())));
      }
    }
    StepReport step =
        new StepReport(
            "cpu",
            1,
            Duration.ZERO,
            ResultCode.NO_ERROR,
            false,
            false,
            Optional.of(
                new Durations(
                    Optional.of(Duration.ofNanos(6_000)),
                    Optional.of(Duration.ofNanos(7_000)),
                    Optional.empty(),
                    Optional.empty())));
    return new InferenceResponse(
        request.model(),
        "3",
        request.id(),
        outputs,
        new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of(step)),
        1,
        new RequestTimes(9_000, 4_000, 1_000, 3_000, 1_000));
  }

  @Override
  public InferenceStream openStream() {
    streams.incrementAndGet();
    AtomicBoolean isOpen = new AtomicBoolean(true);
    return new InferenceStream() {
      @Override
      public PendingInference infer(InferenceRequest request) {
        return FakeServer.this.infer(request);
      }

      @Override
      public void close() {
        if (isOpen.getAndSet(false)) {
          streams.decrementAndGet();
        }
      }
    };
  }

  @Override
  public PendingInference infer(InferenceRequest request) {
    Pending pending = new Pending(request);
    requests.add(request);
    if (!request.model().equals("echo")) {
      pending.completion.completeExceptionally(unknown(request.model()));
    } else if (failure.isPresent()) {
      pending.completion.completeExceptionally(failure.get());
    } else if (isSlow) {
      waiting.add(pending);
    } else {
      pending.end();
    }
    return pending;
  }

  private static ServingException unknown(String model) {
    return new ServingException(Failure.NOT_FOUND, "there is no model '" + model + "'");
  }

  @Override
  public boolean isLive() {
    return true;
  }

  @Override
  public boolean isReady() {
    return isLoaded;
  }

  @Override
  public boolean isReady(String model, Optional<String> version) throws ServingException {
    if (!model.equals("echo")) {
      throw unknown(model);
    }
    return isLoaded;
  }

  @Override
  public ServerMetadata metadata() {
    return new ServerMetadata("fake", "1", List.of("one", "two"));
  }

  @Override
  public ModelMetadata metadata(String model, Optional<String> version) throws ServingException {
    isReady(model, version);
    return new ModelMetadata(
        "echo",
        List.of("2", "3"),
        "3",
        "onnx",
        "d",
        List.of(
            new TensorMetadata("x", Datatype.FP32, List.of(-1L, 2L), Quantization.NONE),
            new TensorMetadata("y", Datatype.BF16, List.of(), Quantization.NONE)),
        List.of(new TensorMetadata("x_out", Datatype.FP32, List.of(-1L, 2L), Quantization.NONE)));
  }

  @Override
  public Compilation compilation(String model, Optional<String> version) {
    throw new UnsupportedOperationException("nobody asks for it");
  }

  @Override
  public void refused(String model, long arrivalNanos, ServingException thrown) {
    refused.add(model + ": " + thrown.getMessage());
  }

  @Override
  public List<IndexEntry> index() {
    return List.of(
        new IndexEntry(
            "echo", "3", isLoaded ? ModelState.READY : ModelState.UNAVAILABLE, "asleep", "d"),
        new IndexEntry("other", "1", ModelState.UNAVAILABLE, "damaged", ""));
  }

  @Override
  public void load(String model) throws ServingException {
    isReady(model, Optional.empty());
    isLoaded = true;
  }

  @Override
  public void unload(String model) throws ServingException {
    isReady(model, Optional.empty());
    isLoaded = false;
  }

  @Override
  public List<ModelStatistics> statistics(Optional<String> model, Optional<String> version) {
    Total total = new Total(7, 8_000);
    return List.of(
        new ModelStatistics(
            "echo", "3", 5, 7, 6, 1, total, total, total, total, total, total, total));
  }

  @Override
  public SharedRegions sharedRegions() {
    return this;
  }

  @Override
  public synchronized void register(String name, String key, long offset, long byteSize) {
    regions.add(new Region(name, key, offset, byteSize));
  }

  @Override
  public synchronized void unregister(String name) {
    regions.removeIf(each -> name.isEmpty() || each.name().equals(name));
  }

  @Override
  public synchronized List<Region> status(String name) {
    return regions.stream().filter(each -> name.isEmpty() || each.name().equals(name)).toList();
  }

  /** The region's bytes are those of one array for all. */
  final MemorySegment shared = MemorySegment.ofArray(new byte[1_024]);

  @Override
  public MemorySegment segment(String name, long offset, long byteSize) throws ServingException {
    if (status(name).isEmpty()) {
      throw new ServingException(Failure.NOT_FOUND, "no region '" + name + "'");
    }
    return shared.asSlice(offset, byteSize);
  }
}
