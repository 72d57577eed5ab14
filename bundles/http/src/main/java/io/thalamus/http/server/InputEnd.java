// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The watch over a client that sends nothing more. It may wait for its answer or have left, which
 * look alike until something is written: the system of a client that has left refuses it, and the
 * write after that fails and closes the connection. In the thread of the event loop.
 */
final class InputEnd {
  /** Longer than most requests take, whose clients get their answer alone. */
  private static final long FIRST_MILLIS = 50;

  private static final long MOST_MILLIS = 2_000;

  private InputEnd() {}

  /**
   * Writes interim answers, which clients of HTTP/1.1 pass over.
   *
   * @param isAwaited true as long as the answer has not begun
   */
  static void watch(ChannelHandlerContext context, BooleanSupplier isAwaited) {
    watch(context, isAwaited, FIRST_MILLIS, FIRST_MILLIS);
  }

  private static void watch(
      ChannelHandlerContext context, BooleanSupplier isAwaited, long millis, long next) {
    Runnable look =
        () -> {
          if (isAwaited.getAsBoolean()) {
            goOn(context);
            watch(context, isAwaited, next, Math.min(2 * next, MOST_MILLIS));
          }
        };
    context.executor().schedule(look, millis, TimeUnit.MILLISECONDS);
  }

  /** Writes that the client may send on, or wait. */
  static void goOn(ChannelHandlerContext context) {
    context.writeAndFlush(
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE, Unpooled.EMPTY_BUFFER));
  }
}
