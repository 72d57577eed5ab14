// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.listening;

import io.netty.channel.Channel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A channel that listens. Before it closes it takes the connections that the kernel has taken
 * already: their clients may have sent requests, and the kernel would reset them.
 */
public final class Listener extends NioServerSocketChannel {
  private final Set<Channel> connections = ConcurrentHashMap.newKeySet();

  /** Returns the connections that were taken and are open. */
  public Set<Channel> connections() {
    return connections;
  }

  @Override
  protected int doReadMessages(List<Object> taken) throws Exception {
    int count = super.doReadMessages(taken);
    if (count > 0 && taken.getLast() instanceof Channel connection) {
      connections.add(connection);
      connection.closeFuture().addListener(closed -> connections.remove(connection));
    }
    return count;
  }

  @Override
  protected void doClose() throws Exception {
    List<Object> taken = new ArrayList<>();
    try {
      if (isRegistered()) {
        // While a selector has it, the JDK closes it only at the next selection.
        SelectionKey key = registration().attachment();
        key.cancel();
        key.selector().selectNow();
      }
      while (isActive() && doReadMessages(taken) > 0) {
        // One at a time.
      }
    } finally {
      super.doClose();
      taken.forEach(pipeline()::fireChannelRead);
    }
  }
}
