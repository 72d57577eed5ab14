// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.thalamus.grpc.reflection.Reflection;
import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.Reply;
import io.thalamus.http.Access;
import io.thalamus.http.settings.Rights;
import io.thalamus.http.settings.Tls;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLSession;

/** The calls of the service, for those who may make them. Thread-safe. */
final class Calls {
  static final String SERVICE = "inference.GRPCInferenceService";

  /** The service of gRPC itself that probes of containers and balancers ask. */
  static final String HEALTH = "grpc.health.v1.Health";

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private static final MethodDescriptor.Marshaller<InputStream> REQUESTS =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(InputStream value) {
          return value;
        }

        @Override
        public InputStream parse(InputStream stream) {
          return stream;
        }
      };

  private static final MethodDescriptor.Marshaller<Reply> REPLIES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(Reply value) {
          return value.stream();
        }

        @Override
        public Reply parse(InputStream stream) {
          throw new UnsupportedOperationException("a server reads no replies");
        }
      };

  private final InferenceServer server;
  private final Rights rights;
  private final RequestMemory.Budget budget;
  private final ByteBufAllocator allocator = new PooledByteBufAllocator(true);
  private final Executor executor;
  private final Set<StreamCall> streams = ConcurrentHashMap.newKeySet();
  private final Descriptions descriptions;
  private final HealthWatches watches;
  private final ReflectionCalls reflections = new ReflectionCalls();
  private final ServerServiceDefinition.Builder definition =
      ServerServiceDefinition.builder(SERVICE);
  private final ServerServiceDefinition.Builder health = ServerServiceDefinition.builder(HEALTH);

  /**
   * Calls of a server.
   *
   * @param executor where elements of streams are sent
   */
  Calls(InferenceServer server, Rights rights, RequestMemory.Budget budget, Executor executor) {
    this.server = server;
    this.descriptions = new Descriptions(server);
    this.watches = new HealthWatches(descriptions);
    this.rights = rights;
    this.budget = budget;
    this.executor = executor;
    add();
  }

  /** Returns the services. */
  List<ServerServiceDefinition> services() {
    return List.of(
        definition.build(),
        health.build(),
        reflection(Reflection.SERVICE),
        reflection(Reflection.OLD_SERVICE));
  }

  /** Returns a service that tells generic clients, as grpcurl, how the calls are defined. */
  private ServerServiceDefinition reflection(String name) {
    return ServerServiceDefinition.builder(name)
        .addMethod(
            method(name, "ServerReflectionInfo", MethodType.BIDI_STREAMING),
            handler(Access.OPEN, (call, headers, client) -> reflections.begin(call)))
        .build();
  }

  /** Tells whoever watches what has changed. */
  void look() {
    watches.look();
  }

  /** Ends what would never end by itself. */
  void stop() {
    streams.forEach(StreamCall::stop);
    watches.stop();
    reflections.stop();
  }

  /** Answers a small message. */
  @FunctionalInterface
  interface Answer {
    MessageWriter answer(MessageReader request) throws IOException, ServingException;
  }

  /** Begins a call of a client who may make it. */
  @FunctionalInterface
  private interface Begin {
    ServerCall.Listener<InputStream> begin(
        ServerCall<InputStream, Reply> call, Metadata headers, Optional<String> client);
  }

  private void add() {
    health.addMethod(
        method(HEALTH, "Check", MethodType.UNARY),
        handler(Access.OPEN, (call, headers, client) -> new SmallCall(call, descriptions::health)));
    health.addMethod(
        method(HEALTH, "Watch", MethodType.SERVER_STREAMING),
        handler(Access.OPEN, (call, headers, client) -> watches.begin(call)));
    small("ServerLive", Access.OPEN, descriptions::live);
    small("ServerReady", Access.OPEN, descriptions::ready);
    small("ModelReady", Access.OPEN, descriptions::modelReady);
    small("ServerMetadata", Access.READ, descriptions::server);
    small("ModelMetadata", Access.READ, descriptions::model);
    small("ModelConfig", Access.READ, descriptions::config);
    small("ModelStatistics", Access.READ, descriptions::statistics);
    small("RepositoryIndex", Access.READ, descriptions::index);
    Changes changes = new Changes(server);
    small("RepositoryModelLoad", Access.MANAGE, changes::load);
    small("RepositoryModelUnload", Access.MANAGE, changes::unload);
    small("SystemSharedMemoryStatus", Access.READ, changes::regions);
    small("SystemSharedMemoryRegister", Access.MANAGE, changes::register);
    small("SystemSharedMemoryUnregister", Access.MANAGE, changes::unregister);
    small("TraceSetting", Access.READ, request -> Changes.refuse("trace"));
    small("LogSettings", Access.READ, request -> Changes.refuse("logging"));
    // There are none of CUDA: clients that look for them, or forget all before they begin, may.
    small("CudaSharedMemoryStatus", Access.READ, request -> new MessageWriter());
    small("CudaSharedMemoryRegister", Access.MANAGE, Changes::cuda);
    small("CudaSharedMemoryUnregister", Access.READ, request -> new MessageWriter());
    add(
        "ModelInfer",
        MethodType.UNARY,
        Access.INFER,
        (call, headers, client) -> new InferCall(call, inferences(headers, client)));
    add(
        "ModelStreamInfer",
        MethodType.BIDI_STREAMING,
        Access.INFER,
        (call, headers, client) ->
            new StreamCall(
                call, inferences(headers, client), server.openStream(), executor, streams));
  }

  private Inferences inferences(Metadata headers, Optional<String> client) {
    return new Inferences(server, budget, allocator, headers, client);
  }

  private void small(String name, Access access, Answer answer) {
    add(name, MethodType.UNARY, access, (call, headers, client) -> new SmallCall(call, answer));
  }

  private void add(String name, MethodType type, Access access, Begin begin) {
    definition.addMethod(method(SERVICE, name, type), handler(access, begin));
  }

  private static MethodDescriptor<InputStream, Reply> method(
      String service, String name, MethodType type) {
    return MethodDescriptor.<InputStream, Reply>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(service, name))
        .setRequestMarshaller(REQUESTS)
        .setResponseMarshaller(REPLIES)
        .build();
  }

  private ServerCallHandler<InputStream, Reply> handler(Access access, Begin begin) {
    return (call, headers) -> {
      try {
        return begin.begin(call, headers, client(call, headers, access));
      } catch (ServingException e) {
        call.close(Failures.status(e), Failures.trailers(e));
        return new ServerCall.Listener<>() {};
      }
    };
  }

  /**
   * Returns the name of the client.
   *
   * @throws ServingException with UNAUTHENTICATED or PERMISSION_DENIED if it has not this right
   */
  private Optional<String> client(
      ServerCall<InputStream, Reply> call, Metadata headers, Access access)
      throws ServingException {
    SSLSession session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    String subject = session == null ? null : Tls.subject(session).orElse(null);
    Rights.Client client =
        rights
            .client(headers.get(AUTHORIZATION), subject)
            .orElseThrow(
                () -> new ServingException(Failure.UNAUTHENTICATED, "the token is not known"));
    if (!client.allowed().contains(access)) {
      throw client.name().isPresent()
          ? new ServingException(
              Failure.PERMISSION_DENIED, "client " + client.name().get() + " may not do this")
          : new ServingException(Failure.UNAUTHENTICATED, "this needs a token");
    }
    return client.name();
  }

  /** Ends a call, if it was not cancelled. */
  static void close(ServerCall<?, ?> call, Status status, Metadata trailers) {
    if (!call.isCancelled()) {
      call.close(status, trailers);
    }
  }
}
