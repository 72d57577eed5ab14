// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.thalamus.http.HttpException;
import io.thalamus.http.HttpServer;
import io.thalamus.http.listening.Listener;
import io.thalamus.http.settings.HttpSettings;
import io.thalamus.http.settings.Rights;
import io.thalamus.http.settings.Tls;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A server with its threads and its memory, from the start of its life to the end. Thread-safe. It
 * owns its event loops, the handlers' threads and the allocator; {@link #close} ends them.
 */
final class NettyServer implements HttpServer, AutoCloseable {
  static final System.Logger LOG = System.getLogger("io.thalamus.http");

  /** The time between two looks at connections. */
  private static final long SWEEP_MILLIS = 250;

  /** Idle connections that make way when the system gives no descriptor. */
  private static final int EVICTED = 16;

  private final HttpSettings settings;
  private final Rights rights;
  private final Optional<SslContext> tls;
  private final PooledByteBufAllocator allocator;
  private final AtomicLong held = new AtomicLong();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger working = new AtomicInteger();
  private final Map<Integer, Long> refusals = new ConcurrentHashMap<>();
  private final EventLoopGroup loops;
  private final Map<EventExecutor, Sweep> sweeps = new HashMap<>();
  private final ExecutorService handlers =
      Executors.newThreadPerTaskExecutor(
          Thread.ofVirtual().name("thalamus-http-request-", 0).factory());
  private final Listener listener;
  private volatile Router router;
  private volatile boolean isDraining;
  private volatile boolean isStopping;

  /**
   * A server that listens.
   *
   * @throws IOException if it cannot listen there, or a key store cannot be read
   */
  NettyServer(HttpSettings settings, Router router) throws IOException {
    this.settings = settings;
    this.router = router;
    try {
      rights = new Rights(settings);
      tls = Tls.of(settings);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new IOException(e.getMessage(), e);
    }
    int threads = Runtime.getRuntime().availableProcessors();
    allocator = new PooledByteBufAllocator(true, 0, threads, 8192, 9, 64, 32, false, 0);
    loops =
        new MultiThreadIoEventLoopGroup(
            threads, new DefaultThreadFactory("thalamus-http", true), NioIoHandler.newFactory());
    for (EventExecutor loop : loops) {
      Sweep sweep = new Sweep();
      sweeps.put(loop, sweep);
      loop.scheduleAtFixedRate(sweep, SWEEP_MILLIS, SWEEP_MILLIS, TimeUnit.MILLISECONDS);
    }
    InetSocketAddress wanted = new InetSocketAddress(settings.host(), settings.port());
    if (wanted.isUnresolved()) {
      end();
      throw new IOException("there is no host " + settings.host());
    }
    var bound =
        new ServerBootstrap()
            .group(loops)
            .channel(Listener.class)
            .option(ChannelOption.SO_REUSEADDR, true)
            .option(ChannelOption.SO_BACKLOG, 1024)
            .childOption(ChannelOption.ALLOCATOR, allocator)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .handler(new Acceptance())
            .childHandler(new Initializer())
            .bind(wanted)
            .awaitUninterruptibly();
    if (!bound.isSuccess()) {
      end();
      throw new IOException(
          "cannot listen at %s:%s: %s"
              .formatted(settings.host(), settings.port(), bound.cause().getMessage()),
          bound.cause());
    }
    listener = (Listener) bound.channel();
  }

  private final class Initializer extends ChannelInitializer<SocketChannel> {
    @Override
    protected void initChannel(SocketChannel channel) {
      Connection connection = new Connection(NettyServer.this, sweeps.get(channel.eventLoop()));
      tls.ifPresent(
          context -> {
            SslHandler handler = context.newHandler(channel.alloc());
            handler.setHandshakeTimeoutMillis(settings.patienceMillis());
            channel.pipeline().addLast(handler);
          });
      channel
          .pipeline()
          .addLast(
              connection.arrivals(),
              new HttpRequestDecoder(
                  new HttpDecoderConfig()
                      .setMaxInitialLineLength(Math.min(settings.headerLimit(), 16 * 1024))
                      .setMaxHeaderSize(settings.headerLimit())
                      .setMaxChunkSize(64 * 1024)),
              new HttpResponseEncoder(),
              connection);
    }
  }

  /** Makes room when the system has no descriptor for a new connection. */
  private final class Acceptance extends ChannelInboundHandlerAdapter {
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      LOG.log(Level.WARNING, "a connection was not taken: {0}", cause.getMessage());
      sweeps.forEach((loop, sweep) -> loop.execute(() -> sweep.evict(EVICTED)));
      ctx.fireExceptionCaught(cause);
    }
  }

  /** Has other routes from the next request on. */
  void setRouter(Router router) {
    this.router = router;
  }

  Router router() {
    return router;
  }

  HttpSettings settings() {
    return settings;
  }

  Rights rights() {
    return rights;
  }

  ByteBufAllocator allocator() {
    return allocator;
  }

  /** Returns the bytes that bodies have. */
  AtomicLong held() {
    return held;
  }

  boolean isDraining() {
    return isDraining;
  }

  /** Returns whether the server has begun to stop: answers that never end do now. */
  boolean isStopping() {
    return isStopping;
  }

  /** Counts a connection, and returns false if there are too many. */
  boolean opened() {
    return connections.incrementAndGet() <= settings.connections();
  }

  void closed() {
    connections.decrementAndGet();
  }

  /** Returns its threads, of which the first one listens. */
  Iterable<EventExecutor> loops() {
    return loops;
  }

  /** Returns true when all threads have ended. */
  boolean isTerminated() {
    return loops.isTerminated() && handlers.isTerminated();
  }

  /** Returns the pieces of direct memory in use; none after the end. */
  long activeAllocations() {
    return allocator.metric().directArenas().stream()
        .mapToLong(PoolArenaMetric::numActiveAllocations)
        .sum();
  }

  /** Runs the handler of a request. */
  void handle(Exchange exchange) {
    working.incrementAndGet();
    handlers.execute(() -> run(exchange));
  }

  private void run(Exchange exchange) {
    boolean isHandled = false;
    try {
      exchange.route().handler().handle(exchange);
      isHandled = true;
    } catch (HttpException e) {
      isHandled = true;
      answer(exchange, e.status(), e.getMessage(), e.headers());
    } catch (InterruptedException e) {
      isHandled = true;
      answer(exchange, 503, "the server stops", Map.of("Retry-After", "1"));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "request " + exchange.method() + " " + exchange.path(), e);
    } finally {
      working.decrementAndGet();
      if (!isHandled) {
        answer(exchange, 500, "the server has a fault, which its log tells", Map.of());
      }
    }
  }

  private static void answer(
      Exchange exchange, int status, String message, Map<String, String> headers) {
    if (!exchange.isAnswered()) {
      exchange.fail(status, message, headers);
    }
  }

  @Override
  public Map<Integer, Long> refusals() {
    return Map.copyOf(refusals);
  }

  /** Counts a request that no route sees. */
  void refused(int status) {
    refusals.merge(status, 1L, Long::sum);
  }

  @Override
  public InetSocketAddress address() {
    return listener.localAddress();
  }

  @Override
  public URI uri() {
    InetSocketAddress address = address();
    InetAddress host = address.getAddress();
    String name = host.isAnyLocalAddress() ? "localhost" : host.getHostAddress();
    return URI.create(
        (tls.isPresent() ? "https://" : "http://")
            + (name.contains(":") ? "[" + name + "]" : name)
            + ":"
            + address.getPort());
  }

  @Override
  public void drain() {
    isDraining = true;
  }

  /** Takes nothing new, waits for the requests up to the limit, then drops what is left. */
  @Override
  public void close() {
    if (loops.isShuttingDown()) {
      return;
    }
    drain();
    isStopping = true;
    listener.close().awaitUninterruptibly();
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(settings.stopMillis());
    boolean isInterrupted = false;
    // Those too that were taken last, which their event loops have yet to see.
    while (!listener.connections().isEmpty()
        && System.nanoTime() - deadline < 0
        && !isInterrupted) {
      sweeps.forEach((loop, sweep) -> loop.execute(sweep::stop));
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    sweeps.forEach((loop, sweep) -> loop.execute(sweep::closeAll));
    end();
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void end() {
    handlers.shutdownNow();
    try {
      if (!handlers.awaitTermination(5, TimeUnit.SECONDS)) {
        LOG.log(Level.WARNING, "{0} requests do not end", working.get());
      }
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).await(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS);
      Thread.currentThread().interrupt();
    }
  }
}
