// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.thalamus.grpc.server.Inferences.Started;
import io.thalamus.grpc.wire.Reply;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.InputStream;
import java.util.Optional;
import java.util.concurrent.Executor;

/**
 * A call of {@code ModelInfer}. gRPC calls it in one thread after another; the answer is sent in
 * another one.
 */
final class InferCall extends ServerCall.Listener<InputStream> {
  private final ServerCall<InputStream, Reply> call;
  private final Inferences inferences;
  private final Executor executor;
  private final long arrivalNanos = System.nanoTime();
  private boolean hasMessage;

  /** Null before the message, and if it cannot be read. */
  private Started started;

  InferCall(ServerCall<InputStream, Reply> call, Inferences inferences, Executor executor) {
    this.call = call;
    this.inferences = inferences;
    this.executor = executor;
    // A message is the whole request: what follows it is never read.
    call.request(1);
  }

  @Override
  public void onMessage(InputStream message) {
    hasMessage = true;
    try {
      started = inferences.start(message, arrivalNanos);
    } catch (ServingException e) {
      fail(e);
      return;
    }
    started.completion().whenCompleteAsync(this::answer, executor);
  }

  @Override
  public void onHalfClose() {
    if (!hasMessage) {
      fail(ServingException.invalid("the call has no message"));
    }
  }

  @Override
  public void onCancel() {
    if (started != null) {
      started.pending().cancel();
    }
  }

  /** Answers; the memory is free again before the client learns of the end. */
  private void answer(InferenceResponse response, Throwable thrown) {
    Optional<ServingException> failure = Optional.empty();
    try (RequestMemory _ = started.memory()) {
      if (thrown != null) {
        failure = Optional.of(Inferences.failure(thrown));
      } else if (!call.isCancelled()) {
        call.sendHeaders(new Metadata());
        call.sendMessage(InferWriter.reply(started.request(), response));
      }
    } catch (RuntimeException e) {
      failure = Optional.of(Failures.fault("a call of ModelInfer", e));
    }
    if (failure.isPresent()) {
      fail(failure.get());
    } else {
      Calls.close(call, Status.OK, new Metadata());
    }
  }

  private void fail(ServingException failure) {
    Calls.close(call, Failures.status(failure), Failures.trailers(failure));
  }
}
