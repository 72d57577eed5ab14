// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.thalamus.http.Access;
import io.thalamus.http.Route;
import io.thalamus.http.settings.HttpSettings;
import io.thalamus.integration.run.GrpcMessages;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/**
 * A process whose servers, those of the product, give back what they get: over HTTP, and over gRPC
 * where nothing of the product is beside gRPC itself. It ends with its standard input.
 */
public final class EchoServer {
  /** The path of the HTTP echo. */
  public static final String PATH = "/echo";

  private EchoServer() {}

  /**
   * Runs it; prints the address of HTTP and that of gRPC.
   *
   * @param words none
   */
  public static void main(String[] words) throws IOException {
    HttpSettings settings =
        (HttpSettings)
            Proxy.newProxyInstance(
                HttpSettings.class.getClassLoader(),
                new Class<?>[] {HttpSettings.class},
                (proxy, method, arguments) ->
                    method.getName().equals("port") ? (Object) 0 : method.getDefaultValue());
    Route echo =
        new Route(
            "POST",
            PATH,
            Access.INFER,
            exchange -> {
              MemorySegment answer = exchange.allocate(exchange.body().byteSize());
              answer.copyFrom(exchange.body());
              exchange.send(200, Map.of(), List.of(answer));
            });
    NettyServer http = new NettyServer(settings, new Router(List.of(echo)));
    Server grpc =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .executor(Executors.newVirtualThreadPerTaskExecutor())
            .maxInboundMessageSize(64 << 20)
            .addService(service())
            .build()
            .start();
    System.out.println("127.0.0.1:" + http.address().getPort() + " 127.0.0.1:" + grpc.getPort());
    System.out.flush();
    while (System.in.read() >= 0) {
      // Its end is the end.
    }
    http.close();
    grpc.shutdownNow();
  }

  private static ServerServiceDefinition service() {
    MethodDescriptor<byte[], byte[]> method = GrpcMessages.ECHO;
    ServerCallHandler<byte[], byte[]> handler =
        (call, headers) -> {
          call.request(1);
          return new ServerCall.Listener<>() {
            @Override
            public void onMessage(byte[] message) {
              call.sendHeaders(new Metadata());
              call.sendMessage(message);
              call.close(Status.OK, new Metadata());
            }
          };
        };
    return ServerServiceDefinition.builder("thalamus.Echo").addMethod(method, handler).build();
  }
}
