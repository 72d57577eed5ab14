// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The connections of one event loop, in whose thread all of this runs. */
final class Sweep implements Runnable {
  private final Set<Connection> all = new LinkedHashSet<>();

  /** The idle ones, the eldest first. */
  private final Set<Connection> idle = new LinkedHashSet<>();

  void add(Connection connection) {
    all.add(connection);
  }

  void remove(Connection connection) {
    all.remove(connection);
    idle.remove(connection);
  }

  void idle(Connection connection) {
    idle.add(connection);
  }

  void busy(Connection connection) {
    idle.remove(connection);
  }

  /** Takes the connection that is idle longest; null if all work. */
  Connection eldestIdle() {
    Iterator<Connection> each = idle.iterator();
    if (!each.hasNext()) {
      return null;
    }
    Connection eldest = each.next();
    each.remove();
    return eldest;
  }

  /** Closes some idle connections, when there are no descriptors for new ones. */
  void evict(int count) {
    for (int i = 0; i < count; i++) {
      Connection eldest = eldestIdle();
      if (eldest != null) {
        eldest.channel().close();
      }
    }
  }

  void stop() {
    List.copyOf(all).forEach(Connection::stop);
  }

  void closeAll() {
    List.copyOf(all).forEach(each -> each.channel().close());
  }

  @Override
  public void run() {
    long now = System.nanoTime();
    List.copyOf(all).forEach(each -> each.check(now));
  }
}
