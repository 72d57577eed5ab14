// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.listening;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Connections that only the kernel has taken when the server stops to listen. */
class ListenerTest {
  private static final int CLIENTS = 5;

  /** Says a byte to whoever is taken. */
  private static final class Greeting extends ChannelInitializer<Channel> {
    @Override
    protected void initChannel(Channel channel) {
      channel
          .pipeline()
          .addLast(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext ctx) {
                  ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[] {7}))
                      .addListener(ChannelFutureListener.CLOSE);
                }
              });
    }
  }

  @Test
  void connectionsOfTheKernelAreTakenBeforeTheEnd() throws Exception {
    EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    List<Socket> clients = new ArrayList<>();
    try {
      Channel listener =
          new ServerBootstrap()
              .group(loops)
              .channel(Listener.class)
              .childHandler(new Greeting())
              .bind(InetAddress.getLoopbackAddress(), 0)
              .sync()
              .channel();
      InetSocketAddress address = (InetSocketAddress) listener.localAddress();
      // While its thread is held nobody is taken; to close is what it does next.
      CountDownLatch isHeld = new CountDownLatch(1);
      CountDownLatch isFree = new CountDownLatch(1);
      loops.execute(
          () -> {
            isHeld.countDown();
            try {
              isFree.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          });
      assertTrue(isHeld.await(20, TimeUnit.SECONDS));
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(new Socket(address.getAddress(), address.getPort()));
      }
      ChannelFuture closed = listener.close();
      isFree.countDown();
      for (Socket client : clients) {
        client.setSoTimeout(20_000);
        assertEquals(7, client.getInputStream().read());
      }
      closed.sync();
      assertThrows(
          IOException.class, () -> new Socket(address.getAddress(), address.getPort()).close());
    } finally {
      for (Socket client : clients) {
        client.close();
      }
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).sync();
    }
  }
}
