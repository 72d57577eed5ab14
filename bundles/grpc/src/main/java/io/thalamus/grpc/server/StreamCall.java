// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.thalamus.grpc.server.Inferences.Started;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.Reply;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceStream;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.InputStream;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * A call of {@code ModelStreamInfer}: messages are computed by bursts as they come, and answered in
 * their order. A failure is the answer to its message, and the stream goes on. Thread-safe: its
 * lock orders what is sent.
 */
final class StreamCall extends ServerCall.Listener<InputStream> {
  /** The messages that may be under way, so that a client cannot fill the memory. */
  private static final int UNDER_WAY = 8;

  private static final Status FAULT = Status.INTERNAL.withDescription("the server has a fault");

  private final ServerCall<InputStream, Reply> call;
  private final Inferences inferences;

  /** Closed at the end. */
  private final InferenceStream stream;

  private final Executor executor;
  private final Set<PendingInference> pending = ConcurrentHashMap.newKeySet();

  /** The answer to the message before. */
  private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

  private boolean isEnded;

  /** The messages that may come once the client has read enough. */
  private int owed;

  /** Those that are open, this one among them. */
  private final Set<StreamCall> streams;

  StreamCall(
      ServerCall<InputStream, Reply> call,
      Inferences inferences,
      InferenceStream stream,
      Executor executor,
      Set<StreamCall> streams) {
    this.streams = streams;
    streams.add(this);
    this.call = call;
    this.inferences = inferences;
    this.stream = stream;
    this.executor = executor;
    call.sendHeaders(new Metadata());
    call.request(UNDER_WAY);
  }

  @Override
  public synchronized void onMessage(InputStream message) {
    try {
      Started started = inferences.start(message, System.nanoTime(), stream);
      pending.add(started.pending());
      if (call.isCancelled()) {
        started.pending().cancel();
      }
      CompletableFuture<InferenceResponse> completion = started.completion();
      last =
          last.thenCombineAsync(
              completion.handle(Outcome::new),
              (before, outcome) -> {
                send(started, outcome);
                return null;
              },
              executor);
    } catch (ServingException e) {
      last = last.thenRunAsync(() -> send(error(e, "")), executor);
    }
  }

  /** Exactly one of them is null. */
  private record Outcome(InferenceResponse response, Throwable thrown) {}

  private void send(Started started, Outcome outcome) {
    pending.remove(started.pending());
    try (RequestMemory _ = started.memory()) {
      send(
          outcome.thrown() == null
              ? InferWriter.element(started.request(), outcome.response())
              : error(Inferences.failure(outcome.thrown()), started.request().id()));
    } catch (RuntimeException e) {
      send(error(Failures.fault("a call of ModelStreamInfer", e), started.request().id()));
    }
  }

  private static Reply error(ServingException failure, String id) {
    return Reply.of(
        new MessageWriter()
            .text(1, failure.getMessage())
            .message(2, new MessageWriter().text(3, id)));
  }

  private synchronized void send(Reply reply) {
    if (!call.isCancelled() && !isEnded) {
      call.sendMessage(reply);
      owed++;
      ask();
    }
  }

  @Override
  public synchronized void onReady() {
    ask();
  }

  private void ask() {
    if (!isEnded && owed > 0 && call.isReady()) {
      call.request(owed);
      owed = 0;
    }
  }

  @Override
  public void onHalfClose() {
    endWith(Status.OK);
  }

  /** Ends the stream once what has come is answered, though the client has not ended it. */
  void stop() {
    endWith(Status.UNAVAILABLE.withDescription("the server ends"));
  }

  private synchronized void endWith(Status status) {
    last.whenCompleteAsync((done, thrown) -> end(thrown == null ? status : FAULT), executor);
  }

  private synchronized void end(Status status) {
    if (!isEnded) {
      isEnded = true;
      streams.remove(this);
      stream.close();
      Calls.close(call, status, new Metadata());
    }
  }

  @Override
  public void onCancel() {
    streams.remove(this);
    pending.forEach(PendingInference::cancel);
    stream.close();
  }
}
