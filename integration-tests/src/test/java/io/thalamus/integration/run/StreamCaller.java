// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A client over gRPC whose requests go by one call of {@code ModelStreamInfer}, as long as the
 * server does not end it.
 */
final class StreamCaller implements Caller {
  private final ManagedChannel channel;
  private ClientCall<byte[], byte[]> call;
  private GrpcCaller.Sending sending;

  /** Messages, and at last the status. */
  private BlockingQueue<Object> answers;

  /**
   * A client.
   *
   * @param address host and port
   */
  StreamCaller(String address) {
    channel = GrpcCaller.channel(address);
  }

  @Override
  public Reply ask(Question question) throws InterruptedException {
    send(question);
    return next();
  }

  /** Sends a request, whose answer is {@link #next} behind those of the requests before. */
  void send(Question question) {
    if (call == null) {
      BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
      answers = queue;
      sending = new GrpcCaller.Sending();
      call =
          channel.newCall(
              GrpcMessages.STREAM, CallOptions.DEFAULT.withStreamTracerFactory(sending));
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onMessage(byte[] message) {
              queue.add(message);
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
              queue.add(status);
            }
          },
          new Metadata());
      call.request(Integer.MAX_VALUE);
    }
    call.sendMessage(GrpcCaller.message(question));
  }

  /** Returns the answer to the first request that has none. */
  Reply next() throws InterruptedException {
    Object answer = answers.take();
    if (answer instanceof Status status) {
      call = null;
      // A server that ends says so to its streams once what it has read is answered.
      boolean isEnd = "the server ends".equals(status.getDescription());
      return isEnd
          ? Reply.without(Outcome.UNAVAILABLE, status.toString(), Optional.empty())
          : GrpcCaller.refusal(status, sending);
    }
    byte[] message = (byte[]) answer;
    try {
      String error = new String(GrpcCaller.bytes(message, 1));
      if (error.isEmpty()) {
        return GrpcCaller.read(GrpcCaller.bytes(message, 2));
      }
      boolean isEnd = error.equals("the server ends");
      return Reply.without(isEnd ? Outcome.UNAVAILABLE : Outcome.FAILED, error, Optional.empty());
    } catch (IOException e) {
      throw new IllegalStateException("an answer cannot be read", e);
    }
  }

  /** Ends the call, and returns how the server ended it. */
  Status end() throws InterruptedException {
    call.halfClose();
    Object last = answers.take();
    call = null;
    return last instanceof Status status ? status : Status.INTERNAL.withDescription("an answer");
  }

  @Override
  public void close() {
    GrpcCaller.close(channel);
  }
}
