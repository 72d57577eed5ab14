// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.thalamus.grpc.server.Inferences.Question;
import io.thalamus.grpc.wire.Reply;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.ServingException;
import java.io.InputStream;
import java.util.Optional;

/**
 * A call of {@code ModelInfer}. gRPC calls it in one thread after another, which are virtual: they
 * wait for the answer.
 */
final class InferCall extends ServerCall.Listener<InputStream> {
  private final ServerCall<InputStream, Reply> call;
  private final Inferences inferences;
  private final long arrivalNanos = System.nanoTime();
  private boolean hasMessage;

  InferCall(ServerCall<InputStream, Reply> call, Inferences inferences) {
    this.call = call;
    this.inferences = inferences;
    // A message is the whole request: what follows it is never read.
    call.request(1);
  }

  /** Answers; the memory is free again before the client learns of the end. */
  @Override
  public void onMessage(InputStream message) {
    hasMessage = true;
    Optional<ServingException> failure = Optional.empty();
    try (Question question = inferences.read(message, arrivalNanos)) {
      InferenceResponse response = inferences.answer(question);
      if (!call.isCancelled()) {
        call.sendHeaders(new Metadata());
        call.sendMessage(InferWriter.reply(question.message(), response));
      }
    } catch (ServingException e) {
      failure = Optional.of(e);
    } catch (RuntimeException e) {
      failure = Optional.of(Failures.fault("a call of ModelInfer", e));
    }
    if (failure.isPresent()) {
      fail(failure.get());
    } else {
      Calls.close(call, Status.OK, new Metadata());
    }
  }

  @Override
  public void onHalfClose() {
    if (!hasMessage) {
      fail(ServingException.invalid("the call has no message"));
    }
  }

  private void fail(ServingException failure) {
    Calls.close(call, Failures.status(failure), Failures.trailers(failure));
  }
}
