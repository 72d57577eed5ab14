// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.netty.buffer.ByteBufAllocator;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.InferenceStream;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.Classification;
import io.thalamus.serving.protocol.PlacedOutputs;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** The inferences of one call, which share its deadline, its client and its trace. Thread-safe. */
final class Inferences {
  private static final Metadata.Key<String> TRACE_PARENT =
      Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);

  private final InferenceServer server;
  private final RequestMemory.Budget budget;
  private final ByteBufAllocator allocator;
  private final Optional<String> client;
  private final Optional<String> traceParent;
  private final Context context = Context.current();
  private final Optional<Deadline> deadline = Optional.ofNullable(context.getDeadline());

  /** Those of a call that begins, in whose context this is called. */
  Inferences(
      InferenceServer server,
      RequestMemory.Budget budget,
      ByteBufAllocator allocator,
      Metadata headers,
      Optional<String> client) {
    this.server = server;
    this.budget = budget;
    this.allocator = allocator;
    this.client = client;
    this.traceParent = Optional.ofNullable(headers.get(TRACE_PARENT));
  }

  /**
   * A request that was read.
   *
   * @param memory what it uses until the answer was sent
   */
  record Question(ReadInfer message, InferenceRequest request, RequestMemory memory)
      implements AutoCloseable {
    /** Gives back what it uses. */
    @Override
    public void close() {
      memory.close();
    }
  }

  /**
   * A request that was read, and is started.
   *
   * @param memory what it uses until the answer was sent
   */
  record Started(ReadInfer request, RequestMemory memory, PendingInference pending) {
    CompletableFuture<InferenceResponse> completion() {
      return request.classes().isEmpty()
          ? pending.completion()
          : pending.completion().thenApply(this::classified);
    }

    private InferenceResponse classified(InferenceResponse response) {
      try {
        return Classification.of(response, request.classes());
      } catch (ServingException e) {
        throw new CompletionException(e);
      }
    }
  }

  /**
   * Reads a message and starts its inference by a stream.
   *
   * @param arrivalNanos when it began to arrive
   * @throws ServingException if it cannot be read; what is wrong later is in the completion
   */
  Started start(InputStream message, long arrivalNanos, InferenceStream stream)
      throws ServingException {
    Question question = read(message, arrivalNanos);
    return new Started(question.message(), question.memory(), stream.infer(question.request()));
  }

  /** Returns the answer to a request, for whose end the caller waits. */
  InferenceResponse answer(Question question) throws ServingException {
    InferenceResponse response = server.answer(question.request(), this::cancelWithCall);
    return Classification.of(response, question.message().classes());
  }

  /** Cancels a request when its client does, or its deadline passes. */
  private void cancelWithCall(PendingInference pending) {
    context.addListener(ended -> pending.cancel(), Runnable::run);
  }

  /**
   * Reads a message.
   *
   * @param arrivalNanos when it began to arrive
   * @throws ServingException if it cannot be read
   */
  Question read(InputStream message, long arrivalNanos) throws ServingException {
    RequestMemory memory = new RequestMemory(budget, new Buffers(allocator));
    boolean isRead = false;
    try {
      ReadInfer read = read(message, memory, arrivalNanos);
      InferenceRequest request =
          new InferenceRequest(
              read.model(),
              read.version(),
              read.id(),
              read.inputs(),
              read.outputs(),
              new PlacedOutputs(
                  name -> Optional.ofNullable(read.regions().get(name)),
                  server.sharedRegions(),
                  memory),
              arrivalNanos,
              timeout(read, arrivalNanos),
              read.priority(),
              read.sequence(),
              client,
              read.report(),
              traceParent);
      isRead = true;
      return new Question(read, request, memory);
    } finally {
      if (!isRead) {
        memory.close();
      }
    }
  }

  private ReadInfer read(InputStream message, RequestMemory memory, long arrivalNanos)
      throws ServingException {
    try {
      return InferReader.read(message, memory, server.sharedRegions());
    } catch (ServingException e) {
      server.refused("", arrivalNanos, e);
      throw e;
    }
  }

  /** Returns the shorter one of the limits of call and message, from the arrival on. */
  private Optional<Duration> timeout(ReadInfer read, long arrivalNanos) {
    if (deadline.isEmpty()) {
      return read.timeout();
    }
    long left = deadline.get().timeRemaining(TimeUnit.NANOSECONDS);
    Duration whole = Duration.ofNanos(left).plusNanos(System.nanoTime() - arrivalNanos);
    return Optional.of(read.timeout().filter(limit -> limit.compareTo(whole) < 0).orElse(whole));
  }

  /** Returns the failure of a completion. */
  static ServingException failure(Throwable thrown) {
    Throwable cause = thrown;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof ServingException failure) {
      return failure;
    }
    throw new IllegalStateException("a completion is an answer or a failure", cause);
  }
}
