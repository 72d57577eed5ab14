// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.http.Headers;
import io.thalamus.http.HttpException;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.Route;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceRequest.OutputAllocator;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;

/** The call {@code infer}. Thread-safe. */
final class InferHandler implements Route.Handler {
  private static final String HEADER_LENGTH = "Inference-Header-Content-Length";

  private final InferenceServer server;
  private final Limits limits;
  private final boolean hasVersion;

  /**
   * A handler.
   *
   * @param hasVersion whether the path names one
   */
  InferHandler(InferenceServer server, Limits limits, boolean hasVersion) {
    this.server = server;
    this.limits = limits;
    this.hasVersion = hasVersion;
  }

  /** The first value stands behind the JSON. */
  @Override
  public long alignedOffset(Headers headers) {
    try {
      return headerLength(headers).orElse(0);
    } catch (ServingException e) {
      // It is told once the body is here.
      return 0;
    }
  }

  private static OptionalLong headerLength(Headers headers) throws ServingException {
    Optional<String> text = headers.first(HEADER_LENGTH);
    if (text.isEmpty()) {
      return OptionalLong.empty();
    }
    String digits = text.get().strip();
    if (!digits.matches("\\d{1,18}")) {
      throw Failures.invalid(
          HEADER_LENGTH
              + " is "
              + Failures.quote(digits)
              + ": expected the bytes of JSON at the begin of the body");
    }
    return OptionalLong.of(Long.parseLong(digits));
  }

  @Override
  public void handle(HttpExchange exchange) throws HttpException {
    try (RequestMemory memory = limits.memory(exchange)) {
      infer(exchange, memory);
    } catch (ServingException e) {
      Failures.answer(exchange, e);
    }
  }

  private void infer(HttpExchange exchange, RequestMemory memory)
      throws HttpException, ServingException {
    String model = exchange.part("model");
    Optional<String> version = Handlers.version(exchange, hasVersion);
    // Whoever asks for what is not here learns that first, whatever the body says.
    server.isReady(model, version);
    OptionalLong headerLength = headerLength(exchange.headers());
    MemorySegment body = limits.body(exchange, memory);
    ReadRequest read =
        headerLength.isPresent() && headerLength.getAsLong() == 0
            ? ReadRequest.of(rawInput(model, version, body))
            : RequestReader.read(body, headerLength, memory, server.sharedRegions());
    InferenceRequest request =
        new InferenceRequest(
            model,
            version,
            read.id(),
            read.inputs(),
            read.outputs().stream().map(WantedOutput::name).toList(),
            new Outputs(read, memory),
            exchange.arrivalNanos(),
            read.timeout(),
            read.priority(),
            read.sequence(),
            exchange.client(),
            read.report(),
            exchange.headers().first("traceparent"));
    InferenceResponse response = await(server.infer(request), exchange);
    new ReplyWriter(read, response).send(exchange);
  }

  /** Waits for the end, whatever happens: up to there the execution uses the body. */
  private static InferenceResponse await(PendingInference pending, HttpExchange exchange)
      throws ServingException {
    exchange.onCancel(pending::cancel);
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return pending.completion().get();
        } catch (InterruptedException e) {
          isInterrupted = true;
          pending.cancel();
        } catch (ExecutionException e) {
          if (e.getCause() instanceof ServingException failure) {
            throw failure;
          }
          throw new IllegalStateException("a completion is an answer or a failure", e);
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns the input of a body that is its value and nothing else. */
  private Input rawInput(String model, Optional<String> version, MemorySegment body)
      throws ServingException {
    List<TensorMetadata> inputs = server.metadata(model, version).inputs();
    if (inputs.size() != 1) {
      throw Failures.invalid(
          "%s is 0 and the model has %d inputs: expected a model with one, or JSON"
              .formatted(HEADER_LENGTH, inputs.size()));
    }
    TensorMetadata tensor = inputs.getFirst();
    if (tensor.datatype() == Datatype.BYTES) {
      throw Failures.invalid("input '" + tensor.name() + "' is BYTES: expected JSON");
    }
    return new Input(tensor.name(), tensor.datatype(), shape(tensor, body.byteSize()), body);
  }

  /** Returns the shape of as many bytes, which one open dimension may follow from. */
  private static List<Long> shape(TensorMetadata tensor, long bytes) throws ServingException {
    long rest = bytes / tensor.datatype().size();
    int open = 0;
    for (long dimension : tensor.shape()) {
      if (dimension > 0) {
        rest /= dimension;
      } else {
        open++;
      }
    }
    if (open > 1) {
      throw Failures.invalid(
          "input '%s' has shape %s: expected JSON that says the dimensions of its %d bytes"
              .formatted(tensor.name(), tensor.shape(), bytes));
    }
    List<Long> shape = new ArrayList<>();
    for (long dimension : tensor.shape()) {
      shape.add(dimension > 0 ? dimension : rest);
    }
    return shape;
  }

  /** Memory for outputs: shared memory where the request says so, else that of the exchange. */
  private final class Outputs implements OutputAllocator {
    private final ReadRequest read;
    private final RequestMemory memory;

    /** True if an output of which only the execution finds the size was given its memory. */
    private boolean isGrowing;

    Outputs(ReadRequest read, RequestMemory memory) {
      this.read = read;
      this.memory = memory;
    }

    @Override
    public MemorySegment allocate(TensorMetadata output, long byteSize) throws ServingException {
      String what = "output " + Failures.quote(output.name());
      Optional<RegionPart> region = read.region(output.name());
      if (region.isPresent()) {
        return shared(what, output, region.get(), byteSize);
      }
      if (!read.isBinary(output.name()) && !TensorWriter.isPossible(output.datatype())) {
        throw Failures.invalid(
            what
                + " is "
                + output.datatype()
                + ", which JSON cannot hold: expected binary_data or binary_data_output");
      }
      return memory.allocate(what, byteSize);
    }

    private MemorySegment shared(String what, TensorMetadata output, RegionPart part, long byteSize)
        throws ServingException {
      boolean isOpen = output.shape().contains(-1L);
      if (part.byteSize() < byteSize && (!isOpen || isGrowing)) {
        throw Failures.invalid(
            "%s: shared_memory_byte_size is %d: expected at least %d"
                .formatted(what, part.byteSize(), byteSize));
      }
      // The first size of an open output is a guess.
      isGrowing = isOpen;
      return server.sharedRegions().segment(part.region(), part.offset(), part.byteSize());
    }
  }
}
