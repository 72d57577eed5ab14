// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.LoadBalancerRegistry;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.NameResolverRegistry;
import io.grpc.Status;
import io.grpc.internal.DnsNameResolverProvider;
import io.grpc.internal.PickFirstLoadBalancerProvider;
import io.grpc.netty.NettyChannelBuilder;
import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/** A client over gRPC, with values in binary and a connection of its own. */
final class GrpcCaller implements Caller {
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private static final Logger LOG = Logger.getLogger("io.grpc");

  static {
    // In the jar of a bundle there is nothing that names them, which would be warned of.
    LOG.setLevel(Level.SEVERE);
    NameResolverRegistry.getDefaultRegistry().register(new DnsNameResolverProvider());
    LoadBalancerRegistry.getDefaultRegistry().register(new PickFirstLoadBalancerProvider());
  }

  private final ManagedChannel channel;

  /**
   * A client.
   *
   * @param address host and port
   */
  GrpcCaller(String address) {
    channel = channel(address);
  }

  /** Returns a connection to host and port. */
  static ManagedChannel channel(String address) {
    int colon = address.lastIndexOf(':');
    return NettyChannelBuilder.forAddress(
            address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)))
        .usePlaintext()
        .maxInboundMessageSize(64 << 20)
        .build();
  }

  @Override
  public Reply ask(Question question) throws InterruptedException {
    return call(GrpcMessages.INFER, message(question), true);
  }

  /** Returns the message of a request. */
  static byte[] message(Question question) {
    MessageWriter tensor =
        new MessageWriter()
            .text(1, question.input())
            .text(2, question.datatype())
            .integers(3, question.shape());
    MessageWriter request =
        new MessageWriter()
            .text(1, question.model())
            .entry(4, "report", new MessageWriter().flag(1, true));
    if (question.timeoutMillis() > 0) {
      request.entry(4, "timeout", new MessageWriter().integer(2, question.timeoutMillis() * 1_000));
    }
    if (question.priority() > 0) {
      request.entry(4, "priority", new MessageWriter().integer(2, question.priority()));
    }
    return request.message(5, tensor).bytes(7, question.value()).toBytes();
  }

  /** Makes a call whose answer is not looked into, and returns how it ended. */
  Outcome send(MethodDescriptor<byte[], byte[]> method, byte[] message)
      throws InterruptedException {
    return call(method, message, false).outcome();
  }

  private Reply call(MethodDescriptor<byte[], byte[]> method, byte[] message, boolean isRead)
      throws InterruptedException {
    Sending sending = new Sending();
    Answer answer = new Answer(isRead, sending);
    ClientCall<byte[], byte[]> call =
        channel.newCall(method, CallOptions.DEFAULT.withStreamTracerFactory(sending));
    call.start(answer, new Metadata());
    call.request(1);
    call.sendMessage(message);
    call.halfClose();
    try {
      return answer.reply.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("an answer cannot be read", e.getCause());
    }
  }

  private static final class Answer extends ClientCall.Listener<byte[]> {
    final CompletableFuture<Reply> reply = new CompletableFuture<>();
    private final boolean isRead;
    private final Sending sending;
    private byte[] message = new byte[0];

    Answer(boolean isRead, Sending sending) {
      this.isRead = isRead;
      this.sending = sending;
    }

    @Override
    public void onMessage(byte[] message) {
      this.message = message;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      try {
        reply.complete(
            !status.isOk()
                ? refusal(status, trailers, sending)
                : isRead ? read(message) : Reply.without(Outcome.ANSWERED, "", Optional.empty()));
      } catch (IOException e) {
        reply.completeExceptionally(e);
      }
    }
  }

  /**
   * Knows whether anything of a call was sent. A port that is closed just then resets its
   * connection.
   */
  static final class Sending extends ClientStreamTracer.Factory {
    private volatile boolean isBegun;

    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      return new ClientStreamTracer() {
        @Override
        public void outboundHeaders() {
          isBegun = true;
        }
      };
    }
  }

  private static Reply refusal(Status status, Metadata trailers, Sending sending)
      throws IOException {
    byte[] details = trailers == null ? null : trailers.get(DETAILS);
    Optional<Duration> wait = details == null ? Optional.empty() : retryDelay(details);
    Outcome outcome =
        switch (status.getCode()) {
          case RESOURCE_EXHAUSTED -> Outcome.BUSY;
          case DEADLINE_EXCEEDED -> Outcome.LATE;
          case UNAVAILABLE ->
              details != null
                  ? Outcome.UNAVAILABLE
                  : sending.isBegun ? Outcome.LOST : Outcome.NOT_TAKEN;
          default -> Outcome.FAILED;
        };
    return Reply.without(outcome, status.toString(), wait);
  }

  /** Returns the end of a call whose trailers say nothing. */
  static Reply refusal(Status status, Sending sending) {
    try {
      return refusal(status, null, sending);
    } catch (IOException e) {
      throw new IllegalStateException("there are no trailers to be read", e);
    }
  }

  /** Returns the delay of the RetryInfo in a google.rpc.Status. */
  private static Optional<Duration> retryDelay(byte[] details) throws IOException {
    byte[] delay = bytes(bytes(bytes(details, 3), 2), 1);
    return Optional.of(Duration.ofSeconds(integer(delay, 1), integer(delay, 2)));
  }

  /** Returns the first value of a field; no bytes without. */
  static byte[] bytes(byte[] message, int field) throws IOException {
    MessageReader in = new MessageReader(new ByteArrayInputStream(message));
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == MessageReader.tag(field, MessageReader.LENGTH)) {
        byte[] value = new byte[(int) in.length()];
        in.bytes(MemorySegment.ofArray(value));
        return value;
      }
      in.skip(tag);
    }
    return new byte[0];
  }

  /** Returns the first integer of a field; 0 without. */
  private static long integer(byte[] message, int field) throws IOException {
    MessageReader in = new MessageReader(new ByteArrayInputStream(message));
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == MessageReader.tag(field, MessageReader.VARINT)) {
        return in.varint();
      }
      in.skip(tag);
    }
    return 0;
  }

  /** Reads the answer to an inference. */
  static Reply read(byte[] message) throws IOException {
    MessageReader in = new MessageReader(new ByteArrayInputStream(message));
    String version = "";
    Map<String, byte[]> parameters = new HashMap<>();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == MessageReader.tag(2, MessageReader.LENGTH)) {
        version = in.text();
      } else if (tag == MessageReader.tag(4, MessageReader.LENGTH)) {
        byte[] entry = new byte[(int) in.length()];
        in.bytes(MemorySegment.ofArray(entry));
        parameters.put(new String(bytes(entry, 1)), bytes(entry, 2));
      } else {
        in.skip(tag);
      }
    }
    byte[] none = new byte[0];
    return new Reply(
        Outcome.ANSWERED,
        version,
        new String(bytes(parameters.getOrDefault("ran_on", none), 3)),
        bytes(message, 6),
        integer(parameters.getOrDefault("queue_us", none), 2),
        integer(parameters.getOrDefault("compute_us", none), 2),
        "",
        Optional.empty());
  }

  @Override
  public void close() {
    close(channel);
  }

  /** Closes a connection. */
  static void close(ManagedChannel channel) {
    channel.shutdownNow();
    try {
      channel.awaitTermination(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
