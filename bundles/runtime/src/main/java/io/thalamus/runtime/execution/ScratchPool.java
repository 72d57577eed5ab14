// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The memories of executions that are over, for those to come: mapping costs more than a small
 * model. Thread-safe. Owned by a compilation.
 */
public final class ScratchPool implements AutoCloseable {
  /** More than this many are not kept: so many executions rarely run at once. */
  private static final int KEPT = 8;

  private final Deque<Scratch> free = new ArrayDeque<>();
  private boolean closed;

  Scratch take() {
    synchronized (free) {
      Scratch scratch = free.pollFirst();
      return scratch != null ? scratch : new Scratch();
    }
  }

  void release(Scratch scratch) {
    synchronized (free) {
      if (!closed && free.size() < KEPT) {
        free.addFirst(scratch);
        return;
      }
    }
    scratch.close();
  }

  /** Gives the memories back; those in use when their execution is over. */
  @Override
  public void close() {
    Deque<Scratch> all;
    synchronized (free) {
      closed = true;
      all = new ArrayDeque<>(free);
      free.clear();
    }
    all.forEach(Scratch::close);
  }
}
