// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.model.Priority;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The account of an application, or of one of its clients: what it has used, and what it waits for.
 * Not thread-safe; owned by a {@link FairQueue}.
 *
 * @param <T> what waits
 */
final class Account<T> {
  /** The most by which one that was idle may be ahead of or behind those that were not. */
  static final long CREDIT_NANOS = Duration.ofMillis(20).toNanos();

  /** The number of idle accounts from which on they are forgotten. */
  private static final int MANY = 256;

  /** Null for that of all applications together. */
  final Account<T> parent;

  private final Map<String, Account<T>> children = new LinkedHashMap<>();

  /** The waiting entries by priority, each in the order of arrival. */
  final List<TreeMap<Long, FairQueue.Entry<T>>> queues = new ArrayList<>();

  private final Map<Integer, Promises> promises = new HashMap<>();

  /** By priority, whether one that had it went before one that had risen to it. */
  private final boolean[] owed = new boolean[Priority.values().length];

  /** Nanoseconds, comparable with those of accounts of the same parent only. */
  long usedNanos;

  /** The number of waiting entries here and below. */
  int waiting;

  /**
   * The number of entries that wait or run, here and below; for all together, the accounts that
   * have such.
   */
  private int active;

  Account(Account<T> parent) {
    this.parent = parent;
  }

  Account<T> child(String name) {
    Account<T> child = children.get(name);
    if (child == null) {
      if (children.size() >= MANY) {
        children.values().removeIf(idle -> idle.active == 0);
      }
      child = new Account<>(this);
      children.put(name, child);
    }
    return child;
  }

  Iterable<Account<T>> children() {
    return children.values();
  }

  Promises promises(int rank) {
    return promises.computeIfAbsent(rank, first -> new Promises());
  }

  /** Returns whether one that has risen to a priority goes before those that have it. */
  boolean isOwed(int rank) {
    return owed[rank];
  }

  void setOwed(int rank, boolean value) {
    owed[rank] = value;
  }

  /** Returns how many accounts of clients have something that waits or runs. */
  int activeAccounts() {
    return parent == null ? active : parent.activeAccounts();
  }

  private void countActive(int change) {
    if (parent == null) {
      active += change;
    } else {
      parent.countActive(change);
    }
  }

  /** Begins something that waits or runs. */
  void enter() {
    if (active == 0) {
      countActive(1);
    }
    for (Account<T> each = this; each.parent != null; each = each.parent) {
      if (each.active++ == 0) {
        each.catchUp();
      }
    }
  }

  /** Ends something that waited or ran. */
  void exit() {
    for (Account<T> each = this; each.parent != null; each = each.parent) {
      each.active--;
    }
    if (active == 0) {
      countActive(-1);
    }
  }

  /** Neither saves up while it is idle, nor pays for ever for what nobody else wanted. */
  private void catchUp() {
    long least = Long.MAX_VALUE;
    long most = Long.MIN_VALUE;
    for (Account<T> other : parent.children.values()) {
      if (other != this && other.active > 0) {
        least = Math.min(least, other.usedNanos);
        most = Math.max(most, other.usedNanos);
      }
    }
    if (least <= most) {
      usedNanos = Math.clamp(usedNanos, least - CREDIT_NANOS, most + CREDIT_NANOS);
    }
  }

  void count(int change) {
    for (Account<T> each = this; each != null; each = each.parent) {
      each.waiting += change;
    }
  }

  void charge(long nanos) {
    for (Account<T> each = this; each.parent != null; each = each.parent) {
      each.usedNanos += nanos;
    }
  }
}
