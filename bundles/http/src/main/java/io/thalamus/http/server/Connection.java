// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.nio.AbstractNioChannel;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.thalamus.http.Access;
import io.thalamus.http.settings.HttpSettings;
import io.thalamus.http.settings.Rights;
import io.thalamus.http.settings.Tls;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * One connection: one request after the other. Its fields belong to the thread of its event loop.
 * While a request is worked on, reading goes on, since that is how a client is seen to leave; what
 * comes early waits, up to a limit.
 */
final class Connection extends ChannelInboundHandlerAdapter {
  /** The bytes of following requests that may wait while one is worked on. */
  private static final int WAITING_BYTES = 64 * 1024;

  /** A body that is not wanted is read away up to this size, and else ends the connection. */
  private static final int SKIPPED_BYTES = 64 * 1024;

  /** A connection that was used less long ago may be sent a request just when the server stops. */
  private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** The bytes that an object counts beside its content. */
  private static final int OBJECT_BYTES = 512;

  private enum State {
    /** Between requests. */
    IDLE,
    /** Some bytes of a head are here. */
    HEAD,
    BODY,
    /** Answered before the body was here, which is read away. */
    SKIP,
    WORKING,
    /** Answered for the last time; what still comes is read away, so that the answer arrives. */
    LINGER
  }

  private final NettyServer server;
  private final Sweep sweep;
  private final Deque<HttpObject> waiting = new ArrayDeque<>();
  private int waitingBytes;
  private ChannelHandlerContext context;
  private State state = State.IDLE;

  /** The time at which the state began. */
  private long since = System.nanoTime();

  /** The time of the first bytes of the current request. */
  private long arrival;

  private Exchange current;

  /** True if the client or the server wants the connection to end with the current request. */
  private boolean isFinal;

  /** True if the client sends nothing more; what has come is answered. */
  private boolean hasInputEnded;

  /** The bytes of the current body that have come, skipped ones too. */
  private long received;

  /** The common name in the client's certificate; null without. */
  private String subject;

  /** The bytes written when the client was last seen to read, and the time of that. */
  private long readMark;

  private long readSince = since;

  private final Object writable = new Object();

  Connection(NettyServer server, Sweep sweep) {
    this.server = server;
    this.sweep = sweep;
  }

  /** Stands before the decoder, and sees the first bytes of a request. */
  ChannelInboundHandlerAdapter arrivals() {
    return new ChannelInboundHandlerAdapter() {
      @Override
      public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (state == State.IDLE) {
          begin();
        }
        ctx.fireChannelRead(message);
      }
    };
  }

  Channel channel() {
    return context.channel();
  }

  /** Returns true if the answer to the current request is to be the last one. */
  boolean isLast() {
    return server.isDraining();
  }

  boolean isStopping() {
    return server.isStopping();
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    context = ctx;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    sweep.add(this);
    if (!server.opened()) {
      Connection eldest = sweep.eldestIdle();
      if (eldest != null) {
        eldest.channel().close();
      } else {
        reject(503, "too many connections", Map.of("Retry-After", "1"), true);
        return;
      }
    }
    idle();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    server.closed();
    sweep.remove(this);
    waiting.forEach(ReferenceCountUtil::release);
    waiting.clear();
    if (current != null) {
      if (state == State.WORKING) {
        current.leave();
      } else {
        current.requestBody().close();
      }
      current = null;
    }
    signalWritable();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    NettyServer.LOG.log(Level.DEBUG, () -> "connection of " + channel().remoteAddress(), cause);
    ctx.close();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof SslHandshakeCompletionEvent done && done.isSuccess()) {
      subject =
          Tls.subject(ctx.pipeline().get(SslHandler.class).engine().getSession()).orElse(null);
    } else if (event == ChannelInputShutdownEvent.INSTANCE) {
      // Over TLS both directions end at once, and a stream is for those who stay.
      if (state == State.WORKING && isPlain() && !current.isStreaming()) {
        hasInputEnded = true;
        watch(current);
      } else {
        ctx.close();
      }
    }
    ctx.fireUserEventTriggered(event);
  }

  private void watch(Exchange exchange) {
    if (exchange.takesInterim()) {
      InputEnd.watch(context, () -> current == exchange && !exchange.isAnswered());
    }
  }

  private boolean isPlain() {
    return context.pipeline().get(SslHandler.class) == null;
  }

  private void idle() {
    state = State.IDLE;
    since = System.nanoTime();
    sweep.idle(this);
  }

  private void begin() {
    sweep.busy(this);
    state = State.HEAD;
    since = System.nanoTime();
    arrival = since;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    HttpObject object = (HttpObject) message;
    if (state == State.WORKING || !waiting.isEmpty()) {
      waiting.add(object);
      waitingBytes += size(object);
      regulate();
    } else {
      process(object);
    }
  }

  private static int size(HttpObject object) {
    return OBJECT_BYTES
        + (object instanceof HttpContent content ? content.content().readableBytes() : 0);
  }

  /** Reads on if there is room for what may come, and the client reads too. */
  private void regulate() {
    channel().config().setAutoRead(waitingBytes < WAITING_BYTES && channel().isWritable());
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    regulate();
    signalWritable();
    ctx.fireChannelWritabilityChanged();
  }

  private void signalWritable() {
    synchronized (writable) {
      writable.notifyAll();
    }
  }

  /** Waits until a piece can be written; returns false if the client has left. */
  boolean awaitWritable() throws InterruptedException {
    synchronized (writable) {
      while (channel().isActive() && !channel().isWritable()) {
        writable.wait(100);
      }
    }
    return channel().isActive();
  }

  private void process(HttpObject object) {
    try {
      if (state == State.LINGER) {
        return;
      }
      if (object.decoderResult().isFailure()) {
        Throwable cause = object.decoderResult().cause();
        int status =
            cause instanceof TooLongHttpLineException
                ? 414
                : cause instanceof TooLongHttpHeaderException ? 431 : 400;
        reject(status, "the request is not HTTP: " + line(cause), Map.of(), true);
        return;
      }
      if (object instanceof HttpRequest request) {
        if (state == State.IDLE) {
          begin();
        }
        head(request);
      }
      if (object instanceof HttpContent content) {
        content(content);
      }
    } finally {
      ReferenceCountUtil.release(object);
    }
  }

  private static String line(Throwable cause) {
    String message = cause.getMessage();
    return message == null
        ? cause.getClass().getSimpleName()
        : message.lines().findFirst().orElse("");
  }

  private void head(HttpRequest request) {
    state = State.BODY;
    since = System.nanoTime();
    received = 0;
    isFinal = !HttpUtil.isKeepAlive(request) || isLast();
    long length;
    try {
      length = HttpUtil.getContentLength(request, 0L);
    } catch (NumberFormatException e) {
      reject(400, "Content-Length is not a number", Map.of(), true);
      return;
    }
    boolean isChunked = HttpUtil.isTransferEncodingChunked(request);
    String expect = request.headers().get(HttpHeaderNames.EXPECT);
    // A client that waits for leave to send has sent nothing, and may or may not send on.
    boolean isLong = isChunked || length > SKIPPED_BYTES || expect != null;
    if (request.protocolVersion().majorVersion() != 1) {
      reject(505, request.protocolVersion() + " is not served: expected HTTP/1.1", Map.of(), true);
      return;
    }
    if (request.protocolVersion().minorVersion() > 0
        && !request.headers().contains(HttpHeaderNames.HOST)) {
      reject(400, "the header Host is missing", Map.of(), true);
      return;
    }
    Router.Match match;
    String path;
    Map<String, List<String>> query;
    try {
      String target = Router.target(request.uri());
      int mark = target.indexOf('?');
      path = mark < 0 ? target : target.substring(0, mark);
      query = mark < 0 ? Map.of() : new QueryStringDecoder(target).parameters();
      match = server.router().match(request.method().name(), path);
    } catch (IllegalArgumentException e) {
      reject(400, "the path is not encoded right: " + line(e), Map.of(), isLong);
      return;
    }
    if (match.route() == null && match.allowed().isEmpty()) {
      reject(404, "there is no " + path, Map.of(), isLong);
      return;
    }
    if (match.route() == null) {
      String allowed = String.join(", ", match.allowed());
      reject(
          405,
          path + " takes " + allowed + ", not " + request.method(),
          Map.of("Allow", allowed),
          isLong);
      return;
    }
    Rights.Client client = admit(request, match.route().access(), isLong);
    if (client == null) {
      return;
    }
    boolean waits = HttpUtil.is100ContinueExpected(request);
    if (expect != null && !waits) {
      reject(417, "the only expectation that is met is 100-continue", Map.of(), true);
      return;
    }
    Body body =
        new Body(
            server.allocator(),
            server.held(),
            server.settings().memoryLimit(),
            server.settings().bodyLimit(),
            match.route().handler().alignedOffset(new Exchange.RequestHeaders(request.headers())));
    current = new Exchange(this, request, path, match, query, client, body, arrival);
    if (isRefused(body.expect(isChunked ? 0 : length))) {
      return;
    }
    if (waits) {
      InputEnd.goOn(context);
    }
  }

  /** Returns the client; null if it may not do that: it has its answer then. */
  private Rights.Client admit(HttpRequest request, Access access, boolean isLong) {
    if (access == Access.OPEN) {
      return new Rights.Client(Optional.empty(), Set.of(Access.OPEN));
    }
    Optional<Rights.Client> client =
        server.rights().client(request.headers().get(HttpHeaderNames.AUTHORIZATION), subject);
    if (client.isEmpty() || !client.get().allowed().contains(access)) {
      Optional<String> name = client.flatMap(Rights.Client::name);
      String right = access.name().toLowerCase(Locale.ROOT);
      if (name.isPresent()) {
        reject(403, name.get() + " may not " + right, Map.of(), isLong);
      } else {
        reject(
            401,
            "a token that may " + right + " is needed",
            Map.of("WWW-Authenticate", "Basic realm=\"thalamus\", Bearer"),
            isLong);
      }
      return null;
    }
    // A page of another site that a browser shows must not use what its user can reach.
    String origin = request.headers().get(HttpHeaderNames.ORIGIN);
    String host = request.headers().get(HttpHeaderNames.HOST);
    if (origin != null
        && !origin.equalsIgnoreCase("http://" + host)
        && !origin.equalsIgnoreCase("https://" + host)) {
      reject(403, "pages of " + origin + " may not use this server", Map.of(), isLong);
      return null;
    }
    return client.get();
  }

  private boolean isRefused(Body.Outcome outcome) {
    switch (outcome) {
      case TAKEN -> {
        return false;
      }
      case TOO_LARGE ->
          reject(
              413,
              "the body is larger than " + server.settings().bodyLimit() + " bytes",
              Map.of(),
              true);
      case NO_MEMORY ->
          reject(503, "the memory for bodies is used up", Map.of("Retry-After", "1"), true);
    }
    return true;
  }

  private void content(HttpContent content) {
    received += content.content().readableBytes();
    if (state == State.BODY) {
      if (isRefused(current.requestBody().add(content.content()))) {
        return;
      }
      if (content instanceof LastHttpContent) {
        state = State.WORKING;
        readSince = System.nanoTime();
        if (hasInputEnded) {
          watch(current);
        }
        server.handle(current);
      }
    } else if (state == State.SKIP) {
      if (content instanceof LastHttpContent) {
        if (isFinal) {
          linger();
          context.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
        } else {
          idle();
        }
      } else if (received > SKIPPED_BYTES) {
        linger();
      }
    }
  }

  /**
   * Answers before the body was read.
   *
   * @param isLast whether the connection ends with it
   */
  private void reject(int status, String message, Map<String, String> headers, boolean isLast) {
    if (current != null) {
      current.requestBody().close();
      current = null;
    }
    server.refused(status);
    FullHttpResponse response = Exchange.refusal(status, message, headers, isLast || isFinal);
    if (isLast) {
      linger();
    } else {
      state = State.SKIP;
    }
    context.writeAndFlush(response);
  }

  private void linger() {
    state = State.LINGER;
    since = System.nanoTime();
  }

  /** Writes the answer, or its end, from any thread; then the next request has its turn. */
  void write(Exchange exchange, HttpObject message, boolean keepAlive) {
    // The listener too: one that is added elsewhere may wake the loop once more.
    Runnable all =
        () ->
            context
                .writeAndFlush(message)
                .addListener(done -> written(exchange, keepAlive && done.isSuccess(), done));
    context.executor().execute(all);
  }

  private void written(Exchange exchange, boolean isKept, Future<?> done) {
    if (current == exchange) {
      current = null;
      if (isKept) {
        idle();
        next();
      } else {
        end(done.isSuccess());
      }
    }
  }

  /**
   * Ends the connection after its last answer. If bytes came that nobody has read, the kernel would
   * reset it, and the client may not see the answer: they are read away until the client closes.
   * TLS says its own end where none wait.
   */
  private void end(boolean isAnswered) {
    boolean lingers = isAnswered && !hasInputEnded && (isPlain() || !waiting.isEmpty());
    if (lingers && channel() instanceof SocketChannel socket) {
      waiting.forEach(ReferenceCountUtil::release);
      waiting.clear();
      waitingBytes = 0;
      linger();
      regulate();
      socket.shutdownOutput();
    } else {
      channel().close();
    }
  }

  private void next() {
    while (!waiting.isEmpty() && state != State.WORKING) {
      HttpObject object = waiting.poll();
      waitingBytes -= size(object);
      process(object);
    }
    if (hasInputEnded && state != State.WORKING) {
      context.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
    } else {
      regulate();
    }
  }

  /**
   * Closes an idle connection, when the server stops. One that is new or was just answered may have
   * a request under way: it is answered, and not lost.
   */
  void stop() {
    if (isQuiet()) {
      // Threads that waited for processors have not read what came long ago.
      ((AbstractNioChannel.NioUnsafe) channel().unsafe()).read();
      if (isQuiet()) {
        channel().close();
      }
    }
  }

  private boolean isQuiet() {
    return state == State.IDLE && System.nanoTime() - since > QUIET_NANOS;
  }

  /** Ends what lasts too long. */
  void check(long now) {
    HttpSettings settings = server.settings();
    long patience = TimeUnit.MILLISECONDS.toNanos(settings.patienceMillis());
    long lasted = now - since;
    switch (state) {
      case IDLE -> {
        if (lasted > TimeUnit.MILLISECONDS.toNanos(settings.idleMillis())) {
          channel().close();
        }
      }
      case HEAD -> {
        if (lasted > patience) {
          reject(408, "the headers took too long", Map.of(), true);
        }
      }
      case BODY, SKIP -> {
        double seconds = (lasted - patience) / 1e9;
        if (seconds > 0 && received < seconds * settings.bytesPerSecond()) {
          if (state == State.SKIP) {
            channel().close();
          } else {
            reject(408, "the body came too slowly", Map.of(), true);
          }
        }
      }
      case LINGER -> {
        if (lasted > Math.min(patience, TimeUnit.SECONDS.toNanos(2))) {
          channel().close();
        }
      }
      case WORKING -> checkReader(now, patience);
    }
  }

  /** Drops a client that does not read its answer. */
  private void checkReader(long now, long patience) {
    ChannelOutboundBuffer outbound = channel().unsafe().outboundBuffer();
    long pending = outbound == null ? 0 : outbound.totalPendingWriteBytes();
    long mark = pending == 0 ? 0 : pending * 31 + outbound.currentProgress();
    if (pending == 0 || mark != readMark) {
      readMark = mark;
      readSince = now;
    } else if (now - readSince > patience) {
      channel().close();
    }
  }
}
