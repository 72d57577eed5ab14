// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.thalamus.http.Headers;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.Route;
import io.thalamus.http.settings.Rights;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A request of a connection. Thread-safe: its own lock guards what changes. */
final class Exchange implements HttpExchange {
  private final Connection connection;
  private final HttpRequest request;
  private final Route route;
  private final String path;
  private final Map<String, String> parts;
  private final Map<String, List<String>> query;
  private final Rights.Client client;
  private final long arrivalNanos;
  private final Headers headers;
  private final Body body;

  private final Object lock = new Object();
  private final List<Allocation> allocations = new ArrayList<>();
  private final List<Runnable> cancelActions = new ArrayList<>();
  private boolean isAnswered;
  private boolean isEnded;
  private boolean hasLeft;

  /** Memory that was handed out. */
  private record Allocation(ByteBuf buffer, int start, long address, long byteSize) {}

  Exchange(
      Connection connection,
      HttpRequest request,
      String path,
      Router.Match match,
      Map<String, List<String>> query,
      Rights.Client client,
      Body body,
      long arrivalNanos) {
    this.connection = connection;
    this.request = request;
    this.path = path;
    this.route = match.route();
    this.parts = match.parts();
    this.query = query;
    this.client = client;
    this.body = body;
    this.arrivalNanos = arrivalNanos;
    this.headers = new RequestHeaders(request.headers());
  }

  /** The headers as handlers see them. */
  record RequestHeaders(HttpHeaders values) implements Headers {
    @Override
    public Optional<String> first(String name) {
      return Optional.ofNullable(values.get(name));
    }

    @Override
    public List<String> all(String name) {
      return values.getAll(name);
    }
  }

  Route route() {
    return route;
  }

  Body requestBody() {
    return body;
  }

  @Override
  public String method() {
    return request.method().name();
  }

  @Override
  public String path() {
    return path;
  }

  @Override
  public String part(String name) {
    String value = parts.get(name);
    if (value == null) {
      throw new IllegalArgumentException(route.path() + " has no part named " + name);
    }
    return value;
  }

  @Override
  public Optional<String> query(String name) {
    return Optional.ofNullable(query.get(name)).map(List::getFirst);
  }

  @Override
  public Headers headers() {
    return headers;
  }

  @Override
  public MemorySegment body() {
    return body.segment();
  }

  @Override
  public long arrivalNanos() {
    return arrivalNanos;
  }

  @Override
  public Optional<String> client() {
    return client.name();
  }

  @Override
  public void onCancel(Runnable action) {
    synchronized (lock) {
      if (!hasLeft) {
        if (!isEnded) {
          cancelActions.add(action);
        }
        return;
      }
    }
    action.run();
  }

  /** Tells the handler that nobody waits for the answer. */
  void leave() {
    List<Runnable> actions;
    synchronized (lock) {
      if (isEnded || hasLeft) {
        return;
      }
      hasLeft = true;
      actions = List.copyOf(cancelActions);
      cancelActions.clear();
    }
    actions.forEach(Runnable::run);
  }

  boolean isAnswered() {
    synchronized (lock) {
      return isAnswered;
    }
  }

  /** Returns true if an answer in pieces has begun, and has not ended. */
  boolean isStreaming() {
    synchronized (lock) {
      return isAnswered && !isEnded;
    }
  }

  /** Returns true if the client may be sent interim answers, which HTTP/1.0 does not know. */
  boolean takesInterim() {
    return request.protocolVersion().minorVersion() > 0;
  }

  @Override
  public MemorySegment allocate(long byteSize) {
    if (byteSize < 0 || byteSize > Integer.MAX_VALUE - 2 * Body.ALIGNMENT) {
      throw new IllegalArgumentException("an answer of " + byteSize + " bytes is too large");
    }
    int capacity = (int) byteSize + Body.ALIGNMENT - 1;
    synchronized (lock) {
      if (isAnswered) {
        throw new IllegalStateException("the request was answered");
      }
      ByteBuf buffer = connection.channel().alloc().directBuffer(capacity, capacity);
      int start = Body.begin(buffer, 0);
      MemorySegment segment = MemorySegment.ofBuffer(buffer.nioBuffer(start, (int) byteSize));
      allocations.add(new Allocation(buffer, start, segment.address(), byteSize));
      return segment;
    }
  }

  @Override
  public void send(int status, Map<String, String> given, List<MemorySegment> parts) {
    HttpHeaders values = headers(given);
    long size = 0;
    for (MemorySegment part : parts) {
      size += part.byteSize();
    }
    boolean isHead = isHead();
    boolean isSent;
    ByteBuf content = Unpooled.EMPTY_BUFFER;
    synchronized (lock) {
      answer();
      isEnded = true;
      isSent = !hasLeft;
      try {
        if (isSent && !isHead && size > 0) {
          ByteBuf[] buffers = new ByteBuf[parts.size()];
          for (int i = 0; i < buffers.length; i++) {
            buffers[i] = buffer(parts.get(i));
          }
          content = Unpooled.wrappedBuffer(buffers.length, buffers);
        }
      } finally {
        release();
      }
    }
    if (isSent) {
      DefaultFullHttpResponse response =
          new DefaultFullHttpResponse(
              HttpVersion.HTTP_1_1,
              HttpResponseStatus.valueOf(status),
              content,
              values,
              EmptyHttpHeaders.INSTANCE);
      if (status != 204 && status != 304) {
        values.set(HttpHeaderNames.CONTENT_LENGTH, size);
      }
      connection.write(this, response, keepAlive(response));
    }
  }

  private static HttpHeaders headers(Map<String, String> given) {
    HttpHeaders values = new DefaultHttpHeaders();
    given.forEach(values::set);
    return values;
  }

  /** Marks the request as answered; once. */
  private void answer() {
    if (isAnswered) {
      throw new IllegalStateException("the request was answered before");
    }
    isAnswered = true;
  }

  private boolean isHead() {
    return request.method().name().equals("HEAD");
  }

  /** Says in the headers whether the connection stays, and returns that. */
  private boolean keepAlive(HttpMessage response) {
    boolean stays = HttpUtil.isKeepAlive(request) && !connection.isLast();
    if (!stays) {
      response.headers().set(HttpHeaderNames.CONNECTION, "close");
    } else if (request.protocolVersion().minorVersion() == 0) {
      response.headers().set(HttpHeaderNames.CONNECTION, "keep-alive");
    }
    return stays;
  }

  /** Returns the bytes of a part off the heap, without a copy where they were allocated. */
  private ByteBuf buffer(MemorySegment part) {
    if (part.byteSize() == 0) {
      return Unpooled.EMPTY_BUFFER;
    }
    if (part.isNative()) {
      for (Allocation each : allocations) {
        long offset = part.address() - each.address;
        if (offset >= 0 && offset + part.byteSize() <= each.byteSize) {
          return each.buffer.retainedSlice(
              each.start + (int) offset, Math.toIntExact(part.byteSize()));
        }
      }
    }
    // One part on the heap would have all of them copied before they are sent.
    int size = Math.toIntExact(part.byteSize());
    ByteBuf copy = connection.channel().alloc().directBuffer(size, size);
    MemorySegment.ofBuffer(copy.nioBuffer(0, size)).copyFrom(part);
    return copy.writerIndex(size);
  }

  private void release() {
    body.close();
    allocations.forEach(each -> each.buffer.release());
    allocations.clear();
    cancelActions.clear();
  }

  @Override
  public void send(int status, String contentType, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    send(status, Map.of("Content-Type", contentType), List.of(MemorySegment.ofArray(bytes)));
  }

  @Override
  public void fail(int status, String message, Map<String, String> given) {
    Map<String, String> all = new HashMap<>(given);
    all.put("Content-Type", "application/json");
    byte[] bytes = errorBody(message);
    send(status, all, List.of(MemorySegment.ofArray(bytes)));
  }

  /** Returns an answer to what is no request that a handler sees. */
  static FullHttpResponse refusal(
      int status, String message, Map<String, String> headers, boolean isLast) {
    byte[] body = errorBody(message);
    DefaultFullHttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(status), Unpooled.wrappedBuffer(body));
    response.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/json");
    response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
    headers.forEach(response.headers()::set);
    if (isLast) {
      response.headers().set(HttpHeaderNames.CONNECTION, "close");
    }
    return response;
  }

  /** Returns {@code {"error": message}}. */
  private static byte[] errorBody(String message) {
    StringBuilder text = new StringBuilder("{\"error\":\"");
    for (int i = 0; i < message.length(); i++) {
      char c = message.charAt(i);
      if (c == '"' || c == '\\') {
        text.append('\\').append(c);
      } else if (c < ' ' || c == 0x7f || Character.isSurrogate(c)) {
        text.append(String.format("\\u%04x", (int) c));
      } else {
        text.append(c);
      }
    }
    return text.append("\"}").toString().getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public ResponseStream stream(int status, String contentType) {
    synchronized (lock) {
      answer();
      if (isHead() || hasLeft) {
        isEnded = true;
        release();
      }
    }
    return Stream.open(this, connection, status, contentType, request, isHead());
  }

  /** Ends an answer that came in pieces. */
  void endStream() {
    synchronized (lock) {
      if (!isEnded) {
        isEnded = true;
        release();
      }
    }
  }

  boolean hasLeft() {
    synchronized (lock) {
      return hasLeft;
    }
  }
}
