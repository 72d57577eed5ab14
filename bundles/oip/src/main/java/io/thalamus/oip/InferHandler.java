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
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import io.thalamus.serving.protocol.Classification;
import io.thalamus.serving.protocol.PlacedOutputs;
import io.thalamus.serving.protocol.RequestMemory;
import io.thalamus.serving.protocol.Texts;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * The call {@code infer}. Thread-safe.
 *
 * @param hasVersion whether the path names one
 */
record InferHandler(InferenceServer server, Limits limits, boolean hasVersion)
    implements Route.Handler {
  private static final String HEADER_LENGTH = "Inference-Header-Content-Length";
  private static final Pattern DIGITS = Pattern.compile("\\d{1,18}");

  /** The first value stands behind the JSON. */
  @Override
  public long alignedOffset(Headers headers) {
    try {
      return headerLength(headers).orElse(0);
    } catch (ServingException e) {
      // It is reported once the body is here.
      return 0;
    }
  }

  private static OptionalLong headerLength(Headers headers) throws ServingException {
    Optional<String> text = headers.first(HEADER_LENGTH);
    if (text.isEmpty()) {
      return OptionalLong.empty();
    }
    String digits = text.get().strip();
    if (!DIGITS.matcher(digits).matches()) {
      throw ServingException.invalid(
          HEADER_LENGTH
              + " is "
              + Texts.quote(digits)
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
    ReadRequest read;
    try {
      // Whoever asks for what is not here learns that first, whatever the body says.
      server.isReady(model, version);
      read = read(exchange, model, version, memory);
    } catch (ServingException e) {
      server.refused(model, exchange.arrivalNanos(), e);
      throw e;
    }
    InferenceRequest request =
        new InferenceRequest(
            model,
            version,
            read.id(),
            read.inputs(),
            read.outputs().stream().map(WantedOutput::name).toList(),
            outputs(read, memory),
            exchange.arrivalNanos(),
            read.timeout(),
            read.priority(),
            read.sequence(),
            exchange.client(),
            read.report(),
            exchange.headers().first("traceparent"));
    InferenceResponse response =
        server.answer(request, pending -> exchange.onCancel(pending::cancel));
    response = Classification.of(response, read.classes());
    new ReplyWriter(read, response).send(exchange);
  }

  private ReadRequest read(
      HttpExchange exchange, String model, Optional<String> version, RequestMemory memory)
      throws HttpException, ServingException {
    OptionalLong headerLength = headerLength(exchange.headers());
    MemorySegment body = limits.body(exchange, memory);
    return headerLength.isPresent() && headerLength.getAsLong() == 0
        ? ReadRequest.of(rawInput(model, version, body))
        : RequestReader.read(body, headerLength, memory, server.sharedRegions());
  }

  /** Returns the input of a body that is its value and nothing else. */
  private Input rawInput(String model, Optional<String> version, MemorySegment body)
      throws ServingException {
    List<TensorMetadata> inputs = server.metadata(model, version).inputs();
    if (inputs.size() != 1) {
      throw ServingException.invalid(
          "%s is 0 and the model has %d inputs: expected a model with one, or JSON"
              .formatted(HEADER_LENGTH, inputs.size()));
    }
    TensorMetadata tensor = inputs.getFirst();
    if (tensor.datatype() == Datatype.BYTES) {
      throw ServingException.invalid("input '" + tensor.name() + "' is BYTES: expected JSON");
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
      throw ServingException.invalid(
          "input '%s' has shape %s: expected JSON that says the dimensions of its %d bytes"
              .formatted(tensor.name(), tensor.shape(), bytes));
    }
    List<Long> shape = new ArrayList<>();
    for (long dimension : tensor.shape()) {
      shape.add(dimension > 0 ? dimension : rest);
    }
    return shape;
  }

  /** Returns memory for outputs, which come as JSON or as bytes. */
  private OutputAllocator outputs(ReadRequest read, RequestMemory memory) {
    PlacedOutputs placed = new PlacedOutputs(read::region, server.sharedRegions(), memory);
    return (output, byteSize) -> {
      boolean isText = !read.isBinary(output.name()) && read.region(output.name()).isEmpty();
      if (isText && !TensorWriter.isPossible(output.datatype())) {
        throw ServingException.invalid(
            "output %s is %s, which JSON cannot hold: expected binary_data or binary_data_output"
                .formatted(Texts.quote(output.name()), output.datatype()));
      }
      return placed.allocate(output, byteSize);
    };
  }
}
