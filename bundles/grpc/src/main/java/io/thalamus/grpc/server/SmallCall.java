// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.Reply;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;

/** A call with one small message each way. gRPC calls it in one thread after another. */
final class SmallCall extends ServerCall.Listener<InputStream> {
  private final ServerCall<InputStream, Reply> call;
  private final Calls.Answer answer;
  private Optional<MessageWriter> reply = Optional.empty();
  private Optional<ServingException> failure = Optional.empty();

  SmallCall(ServerCall<InputStream, Reply> call, Calls.Answer answer) {
    this.call = call;
    this.answer = answer;
    // A second one would be a mistake of the client, which has to be seen.
    call.request(2);
  }

  @Override
  public void onMessage(InputStream message) {
    if (reply.isPresent() || failure.isPresent()) {
      failure = Optional.of(ServingException.invalid("the call has more than one message"));
      return;
    }
    try {
      reply = Optional.of(answer.answer(new MessageReader(message)));
    } catch (ServingException e) {
      failure = Optional.of(e);
    } catch (IOException e) {
      failure = Optional.of(Failures.unreadable(e));
    }
  }

  @Override
  public void onHalfClose() {
    if (failure.isEmpty() && reply.isEmpty()) {
      failure = Optional.of(ServingException.invalid("the call has no message"));
    }
    if (failure.isPresent()) {
      Calls.close(call, Failures.status(failure.get()), Failures.trailers(failure.get()));
      return;
    }
    if (!call.isCancelled()) {
      call.sendHeaders(new Metadata());
      call.sendMessage(Reply.of(reply.get()));
      Calls.close(call, Status.OK, new Metadata());
    }
  }
}
