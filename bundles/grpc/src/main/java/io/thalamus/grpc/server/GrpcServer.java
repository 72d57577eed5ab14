// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.thalamus.http.HttpServer;
import io.thalamus.http.listening.Listener;
import io.thalamus.http.settings.HttpSettings;
import io.thalamus.http.settings.Rights;
import io.thalamus.http.settings.Tls;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.Logger;
import java.util.stream.Stream;

/** A server of the protocol that listens. Thread-safe. */
final class GrpcServer implements HttpServer, AutoCloseable {
  private static final System.Logger LOG = System.getLogger(GrpcServer.class.getPackageName());

  /**
   * Those that warn of each call whose client leaves while it is answered, or sends more than is
   * taken: kept, so that they stay silent.
   */
  private static final List<Logger> OF_CLIENTS =
      Stream.of("NettyServerHandler", "NettyServerStream")
          .map(name -> Logger.getLogger("io.grpc.netty." + name))
          .toList();

  static {
    OF_CLIENTS.forEach(logger -> logger.setLevel(java.util.logging.Level.SEVERE));
  }

  private static final int CALLS_OF_A_CONNECTION = 256;

  /** The time between two calls to clients to leave, while the server drains. */
  private static final long DISMISS_MILLIS = 200;

  private static final long LOOK_MILLIS = 10;

  /** The time after which a change of its health is reported at the latest. */
  private static final long WATCH_MILLIS = 200;

  /** Of a connection that was there when clients were asked to leave. */
  private static final AttributeKey<Boolean> KNOWN =
      AttributeKey.valueOf(GrpcServer.class, "known");

  /** Clients that look after their connection more often are asked to stop it. */
  private static final long LEAST_PING_SECONDS = 10;

  private final HttpSettings settings;
  private final ExecutorService executor =
      Executors.newThreadPerTaskExecutor(
          Thread.ofVirtual().name("thalamus-grpc-call-", 0).factory());
  private final EventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(
          Runtime.getRuntime().availableProcessors(),
          new DefaultThreadFactory("thalamus-grpc", true),
          NioIoHandler.newFactory());
  private final RequestMemory.Budget budget;
  private final Calls calls;
  private final Server server;
  private final boolean isSecure;

  /** The channel that listens. */
  private volatile Listener listener;

  private volatile boolean isDraining;

  /**
   * A server that listens.
   *
   * @throws IOException if it cannot listen there, or a key store cannot be read
   */
  GrpcServer(HttpSettings settings, InferenceServer served) throws IOException {
    this.settings = settings;
    this.budget = new RequestMemory.Budget(settings.memoryLimit());
    boolean isListening = false;
    try {
      InetSocketAddress wanted = new InetSocketAddress(settings.host(), settings.port());
      if (wanted.isUnresolved()) {
        throw new IOException("there is no host " + settings.host());
      }
      NettyServerBuilder builder = builder(wanted);
      Optional<SslContextBuilder> tls = Tls.builder(settings);
      isSecure = tls.isPresent();
      if (isSecure) {
        builder.sslContext(GrpcSslContexts.configure(tls.get(), SslProvider.JDK).build());
      }
      calls = new Calls(served, new Rights(settings), budget, executor);
      builder.addServices(calls.services());
      server = listen(builder.build(), settings);
      isListening = true;
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new IOException(e.getMessage(), e);
    } finally {
      if (!isListening) {
        end();
      }
    }
    loops.scheduleWithFixedDelay(calls::look, WATCH_MILLIS, WATCH_MILLIS, TimeUnit.MILLISECONDS);
  }

  private static Server listen(Server server, HttpSettings settings) throws IOException {
    try {
      return server.start();
    } catch (IOException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException(
          "cannot listen at " + settings.host() + ":" + settings.port() + ": " + cause.getMessage(),
          e);
    }
  }

  private NettyServerBuilder builder(InetSocketAddress wanted) {
    return NettyServerBuilder.forAddress(wanted)
        .channelFactory(
            () -> {
              listener = new Listener();
              return listener;
            })
        .bossEventLoopGroup(loops)
        .workerEventLoopGroup(loops)
        .withChildOption(ChannelOption.TCP_NODELAY, true)
        .executor(executor)
        .decompressorRegistry(
            DecompressorRegistry.getDefaultInstance().with(new DeflateDecompressor(), true))
        .maxInboundMessageSize((int) Math.min(settings.bodyLimit(), Integer.MAX_VALUE - 1024))
        .maxInboundMetadataSize(settings.headerLimit())
        .maxConcurrentCallsPerConnection(CALLS_OF_A_CONNECTION)
        .maxConnectionIdle(settings.idleMillis(), TimeUnit.MILLISECONDS)
        .permitKeepAliveTime(LEAST_PING_SECONDS, TimeUnit.SECONDS)
        .permitKeepAliveWithoutCalls(true)
        .handshakeTimeout(settings.patienceMillis(), TimeUnit.MILLISECONDS);
  }

  /** Returns the bytes that requests have; none after the end. */
  long held() {
    return budget.held();
  }

  /** Returns true when all threads have ended. */
  boolean isTerminated() {
    return loops.isTerminated() && executor.isTerminated();
  }

  @Override
  public InetSocketAddress address() {
    return (InetSocketAddress) server.getListenSockets().getFirst();
  }

  @Override
  public URI uri() {
    InetAddress host = address().getAddress();
    String name = host.isAnyLocalAddress() ? "localhost" : host.getHostAddress();
    return URI.create(
        (isSecure ? "grpcs://" : "grpc://")
            + (name.contains(":") ? "[" + name + "]" : name)
            + ":"
            + server.getPort());
  }

  @Override
  public void drain() {
    if (!isDraining) {
      isDraining = true;
      loops.scheduleAtFixedRate(this::dismiss, 0, DISMISS_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * Tells the clients of all connections to leave once their calls have ended: a connection of
   * HTTP/2 that is closed says GOAWAY first, and loses no call. New ones have their turn next time.
   */
  private void dismiss() {
    for (Channel connection : listener.connections()) {
      if (connection.pipeline().get(Http2ConnectionHandler.class) == null) {
        continue;
      }
      if (connection.hasAttr(KNOWN)) {
        connection.close();
      } else {
        connection.attr(KNOWN).set(true);
      }
    }
  }

  /** Takes no new calls, waits for those that run up to the limit, then drops what is left. */
  @Override
  public void close() {
    drain();
    // By itself gRPC would close connections that were taken last before they are HTTP/2.
    listener.close().awaitUninterruptibly();
    calls.stop();
    try {
      awaitDismissed();
      server.shutdown();
      if (!server.awaitTermination(settings.stopMillis(), TimeUnit.MILLISECONDS)) {
        server.shutdownNow();
      }
    } catch (InterruptedException e) {
      server.shutdownNow();
      Thread.currentThread().interrupt();
    }
    end();
  }

  /** Waits until all clients were asked to leave, those too that connected last. */
  private void awaitDismissed() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(5 * DISMISS_MILLIS);
    while (!listener.connections().isEmpty() && System.nanoTime() - end < 0) {
      Thread.sleep(LOOK_MILLIS);
    }
  }

  private void end() {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(5, TimeUnit.SECONDS)) {
        executor.shutdownNow();
        LOG.log(System.Logger.Level.WARNING, "some calls do not end");
      }
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).await(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS);
      Thread.currentThread().interrupt();
    }
  }
}
