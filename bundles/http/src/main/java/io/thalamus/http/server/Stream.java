// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.thalamus.http.HttpExchange.ResponseStream;
import java.nio.charset.StandardCharsets;

/** An answer in pieces: in chunks, or up to the end of the connection for HTTP/1.0. */
final class Stream implements ResponseStream {
  private final Exchange exchange;
  private final Connection connection;
  private final boolean keepAlive;

  /** False for one that asks for the headers alone, or is away. */
  private boolean isOpen;

  private Stream(Exchange exchange, Connection connection, boolean keepAlive, boolean isOpen) {
    this.exchange = exchange;
    this.connection = connection;
    this.keepAlive = keepAlive;
    this.isOpen = isOpen;
  }

  static Stream open(
      Exchange exchange,
      Connection connection,
      int status,
      String contentType,
      HttpRequest request,
      boolean isHead) {
    boolean isChunked = request.protocolVersion().minorVersion() > 0;
    boolean keepAlive = isChunked && HttpUtil.isKeepAlive(request) && !connection.isLast();
    HttpResponseStatus code = HttpResponseStatus.valueOf(status);
    HttpResponse head =
        isHead
            ? new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, code)
            : new DefaultHttpResponse(HttpVersion.HTTP_1_1, code);
    head.headers().set(HttpHeaderNames.CONTENT_TYPE, contentType);
    head.headers().set(HttpHeaderNames.CACHE_CONTROL, "no-store");
    if (!keepAlive) {
      head.headers().set(HttpHeaderNames.CONNECTION, "close");
    }
    if (isHead) {
      connection.write(exchange, head, keepAlive);
      return new Stream(exchange, connection, keepAlive, false);
    }
    if (isChunked) {
      head.headers().set(HttpHeaderNames.TRANSFER_ENCODING, "chunked");
    }
    connection.channel().writeAndFlush(head);
    return new Stream(exchange, connection, keepAlive, true);
  }

  @Override
  public synchronized boolean write(byte[] bytes) throws InterruptedException {
    if (!isOpen || exchange.hasLeft() || connection.isStopping() || !connection.awaitWritable()) {
      return false;
    }
    if (bytes.length > 0) {
      connection
          .channel()
          .writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(bytes.clone())));
    }
    return true;
  }

  @Override
  public boolean event(String name, String data) throws InterruptedException {
    StringBuilder text = new StringBuilder();
    if (!name.isEmpty()) {
      text.append("event: ").append(name).append('\n');
    }
    data.lines().forEach(line -> text.append("data: ").append(line).append('\n'));
    return write(text.append('\n').toString().getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public synchronized void close() {
    if (isOpen) {
      isOpen = false;
      exchange.endStream();
      connection.write(exchange, LastHttpContent.EMPTY_LAST_CONTENT, keepAlive);
    }
  }
}
