// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import java.lang.System.Logger.Level;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The clients of one service that are open, and a thread that closes the channels of those which
 * nobody refers to any more. Thread-safe. The thread starts with the first client.
 */
final class ForgottenClients implements AutoCloseable {
  private final ReferenceQueue<OwnedClient> forgotten = new ReferenceQueue<>();

  /** Keeps the references; a reference that is garbage itself is never queued. */
  private final Set<Watch> watches = ConcurrentHashMap.newKeySet();

  private Thread thread;
  private boolean isClosed;

  /** An open client. */
  private static final class Watch extends PhantomReference<OwnedClient> {
    private final BurstChannel channel;

    Watch(OwnedClient client, BurstChannel channel, ReferenceQueue<OwnedClient> queue) {
      super(client, queue);
      this.channel = channel;
    }
  }

  /** Returns a client of a channel, which is closed with its owner at the latest. */
  synchronized OwnedClient watch(BurstChannel channel) {
    if (thread == null && !isClosed) {
      thread = Thread.ofPlatform().name("burst-owners").daemon().start(this::run);
    }
    OwnedClient client = new OwnedClient(channel);
    watches.add(new Watch(client, channel, forgotten));
    return client;
  }

  /** Forgets a channel that is closed. */
  void remove(BurstChannel channel) {
    watches.removeIf(watch -> watch.channel == channel);
  }

  private void run() {
    try {
      while (true) {
        Watch watch = (Watch) forgotten.remove();
        BurstServer.log().log(Level.WARNING, "a burst that its owner forgot is closed");
        watch.channel.close();
      }
    } catch (InterruptedException e) {
      // The service ends.
      BurstServer.log().log(Level.DEBUG, "bursts are not watched any more");
    }
  }

  /** Ends the thread. Channels stay as they are. */
  @Override
  public void close() {
    Thread running;
    synchronized (this) {
      isClosed = true;
      running = thread;
    }
    if (running == null) {
      return;
    }
    running.interrupt();
    try {
      running.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
