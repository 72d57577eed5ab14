// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.http.settings.HttpSettings;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.util.Map;

/** A server on a free port and a client of it, which knows bytes and no messages. */
final class RunningServer implements AutoCloseable {
  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  final FakeServer served = new FakeServer();
  final GrpcServer server;
  final ManagedChannel channel;

  RunningServer(Map<String, Object> settings) throws IOException {
    server = new GrpcServer(settings(settings), served);
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.address().getPort())
            .usePlaintext()
            .build();
  }

  /** Settings with their defaults, but a free port. */
  static HttpSettings settings(Map<String, Object> given) {
    return (HttpSettings)
        Proxy.newProxyInstance(
            HttpSettings.class.getClassLoader(),
            new Class<?>[] {HttpSettings.class},
            (proxy, method, arguments) ->
                given.getOrDefault(
                    method.getName(),
                    method.getName().equals("port") ? (Object) 0 : method.getDefaultValue()));
  }

  static MethodDescriptor<byte[], byte[]> method(String service, String name, MethodType type) {
    return MethodDescriptor.newBuilder(BYTES, BYTES)
        .setType(type)
        .setFullMethodName(service + "/" + name)
        .build();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    return method(Calls.SERVICE, name, type);
  }

  byte[] call(String name, MessageWriter message) {
    return call(name, message.toBytes(), CallOptions.DEFAULT);
  }

  byte[] call(String name, byte[] message, CallOptions options) {
    return ClientCalls.blockingUnaryCall(channel, method(name, MethodType.UNARY), options, message);
  }

  ClientCall<byte[], byte[]> begin(String name, byte[] message, StreamObserver<byte[]> answers) {
    ClientCall<byte[], byte[]> call =
        channel.newCall(method(name, MethodType.UNARY), CallOptions.DEFAULT);
    ClientCalls.asyncUnaryCall(call, message, answers);
    return call;
  }

  StreamObserver<byte[]> stream(StreamObserver<byte[]> answers) {
    return stream(answers, CallOptions.DEFAULT);
  }

  StreamObserver<byte[]> stream(StreamObserver<byte[]> answers, CallOptions options) {
    return ClientCalls.asyncBidiStreamingCall(
        channel.newCall(method("ModelStreamInfer", MethodType.BIDI_STREAMING), options), answers);
  }

  /** Returns the headers of a client with a token. */
  static Metadata token(String token) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    return headers;
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
    assertTrue(channel.isShutdown(), "the client has ended");
    assertTrue(server.isTerminated(), "threads have ended");
    assertEquals(0, server.held(), "bytes of requests at the end");
  }
}
