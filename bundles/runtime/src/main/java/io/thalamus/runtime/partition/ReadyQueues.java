// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import java.util.Arrays;

/**
 * The operations of a graph whose inputs are computed, by the queue they were assigned to. The
 * highest queue that is not empty is drained first, and what becomes ready meanwhile joins its
 * queue: so steps are as large as possible. Not thread-safe; can be begun again without allocating.
 */
public final class ReadyQueues {
  private static final int NONE = -1;

  private final Dependencies dependencies;
  private final int[] first;
  private final int[] last;
  private final int[] next;
  private final int[] missing;
  private int[] queueOf;
  private int processed;

  /**
   * Queues for a graph, to be begun.
   *
   * @param count how many queues there are
   */
  public ReadyQueues(Dependencies dependencies, int count) {
    this.dependencies = dependencies;
    this.first = new int[count];
    this.last = new int[count];
    this.next = new int[dependencies.operations()];
    this.missing = new int[dependencies.operations()];
  }

  /**
   * Begins anew.
   *
   * @param queues the queue of each operation, in [0, count); kept, and not to be changed until the
   *     next call
   */
  public void begin(int[] queues) {
    queueOf = queues;
    processed = 0;
    Arrays.fill(first, NONE);
    Arrays.fill(last, NONE);
    for (int operation = 0; operation < missing.length; operation++) {
      missing[operation] = dependencies.missing(operation);
      if (missing[operation] == 0) {
        add(operation);
      }
    }
  }

  private void add(int operation) {
    int queue = queueOf[operation];
    next[operation] = NONE;
    if (last[queue] == NONE) {
      first[queue] = operation;
    } else {
      next[last[queue]] = operation;
    }
    last[queue] = operation;
  }

  /** Returns the highest queue that is not empty, or -1 when all are. */
  public int highest() {
    for (int queue = first.length - 1; queue >= 0; queue--) {
      if (first[queue] != NONE) {
        return queue;
      }
    }
    return NONE;
  }

  /** Takes the next operation of a queue and makes ready what waited for it; -1 for none. */
  public int take(int queue) {
    int operation = first[queue];
    if (operation == NONE) {
      return NONE;
    }
    first[queue] = next[operation];
    if (first[queue] == NONE) {
      last[queue] = NONE;
    }
    processed++;
    for (int reader : dependencies.readers(operation)) {
      if (--missing[reader] == 0) {
        add(reader);
      }
    }
    return operation;
  }

  /**
   * Returns whether every operation was taken; the others wait for an operand that nobody writes.
   */
  public boolean isComplete() {
    return processed == missing.length;
  }
}
