// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.model.Priority;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * A queue whose next entry is one of the application that has used least, of these one of the
 * highest priority, and of these the first. An entry that waits for long rises in priority. Not
 * thread-safe: its owner locks.
 *
 * @param <T> what waits
 */
public final class FairQueue<T> {
  /** An entry rises by one priority each time that it has waited so long. */
  static final long AGING_NANOS = Duration.ofMillis(500).toNanos();

  /** The most refused ones to which different times are promised, in full classes. */
  private static final int REFUSED_CLASSES = 16;

  /** The share of the latest interval in the mean. */
  private static final double LATEST_SHARE = 1.0 / 16;

  /** The most by which an interval counts, in means. */
  private static final int FARTHEST = 2;

  private static final int HIGHEST = Priority.HIGH.ordinal();

  private final int most;
  private final Account<T> all = new Account<>(null);
  private long numbers;

  /**
   * An empty queue.
   *
   * @param most entries of one application and priority
   */
  public FairQueue(int most) {
    this.most = most;
  }

  /**
   * Something that waits.
   *
   * @param <T> what it is
   */
  public static final class Entry<T> {
    final T item;
    Account<T> account;
    int rank;
    long sinceNanos;
    final long number;

    Entry(T item, long number) {
      this.item = item;
      this.number = number;
    }

    /** Returns what waits. */
    public T item() {
      return item;
    }

    /** Returns the priority, as an ordinal, that it has by now. */
    int rank(long now) {
      return (int) Math.min(HIGHEST, rank + Math.max(0, now - sinceNanos) / AGING_NANOS);
    }
  }

  /** Adds something at the end of its class; returns null if the class is full. */
  public Entry<T> add(Application application, Priority priority, long now, T item) {
    Account<T> account = account(application);
    if (queue(account, priority.ordinal()).size() >= most) {
      return null;
    }
    Entry<T> entry = new Entry<>(item, nextNumber());
    insert(entry, account, priority.ordinal(), now);
    return entry;
  }

  /** Returns the next number in the order of arrival. */
  long nextNumber() {
    return numbers++;
  }

  /** Adds an entry with a number of its own, before all that came after it. */
  void insert(Entry<T> entry, Account<T> account, int rank, long now) {
    entry.account = account;
    entry.rank = rank;
    entry.sinceNanos = now;
    queue(account, rank).put(entry.number, entry);
    account.count(1);
    account.enter();
  }

  private static <T> TreeMap<Long, Entry<T>> queue(Account<T> account, int rank) {
    while (account.queues.size() <= rank) {
      account.queues.add(new TreeMap<>());
    }
    return account.queues.get(rank);
  }

  /**
   * Returns the time until one that was refused finds room: when what waits now is served, and what
   * was refused of its class before it. Each class that waits is promised an equal part of what is
   * served, so that all who come back when they were told to come no faster than they are served.
   * Who comes back earlier, again and again, is promised a time that has its bounds too.
   *
   * @param interval the mean time between two that are served, in nanoseconds
   */
  public Duration untilRoom(Application application, Priority priority, long now, double interval) {
    Account<T> account = account(application);
    double share = classes() * interval;
    long served = now + (long) (all.waiting * interval);
    long behind = account.promised(priority.ordinal(), served) - served;
    long last = (long) (REFUSED_CLASSES * most * share);
    long promised = served + Math.clamp(behind, 0, last) + (long) share;
    account.promise(priority.ordinal(), promised);
    return Duration.ofNanos(Math.max(1, promised - now));
  }

  /**
   * Returns the mean interval once another one is known. One that is far from the others counts
   * less: a thread that the system stopped says little of the next ones.
   *
   * @param mean before; 0 where there was none
   */
  public static double mean(double mean, double latest) {
    return mean == 0 ? latest : mean + (Math.min(latest, FARTHEST * mean) - mean) * LATEST_SHARE;
  }

  /** Returns how many classes, of one application, client and priority each, wait. */
  private int classes() {
    int classes = 0;
    for (Account<T> application : all.children()) {
      for (Account<T> client : application.children()) {
        for (TreeMap<Long, Entry<T>> queue : client.queues) {
          classes += queue.isEmpty() ? 0 : 1;
        }
      }
    }
    return Math.max(1, classes);
  }

  /** Takes an entry out. */
  public void remove(Entry<T> entry) {
    if (queue(entry.account, entry.rank).remove(entry.number) != null) {
      entry.account.count(-1);
      entry.account.exit();
    }
  }

  Account<T> account(Application application) {
    return all.child(application.name()).child(application.client());
  }

  /** Charges an application for something that has run. */
  public void charge(Application application, long nanos) {
    account(application).charge(nanos);
  }

  /** Begins or ends something that runs: who has it is not idle. */
  public void running(Application application, boolean begins) {
    if (begins) {
      account(application).enter();
    } else {
      account(application).exit();
    }
  }

  /** Returns whether several clients or applications have something that waits or runs. */
  boolean hasRivals() {
    return all.activeAccounts() > 1;
  }

  /** Returns how many entries wait. */
  public int size() {
    return all.waiting;
  }

  /** Returns all entries. */
  List<Entry<T>> entries() {
    List<Entry<T>> entries = new ArrayList<>();
    for (Account<T> application : all.children()) {
      for (Account<T> client : application.children()) {
        client.queues.forEach(queue -> entries.addAll(queue.values()));
      }
    }
    return entries;
  }

  /** Returns the entry that is next; null if none waits. */
  public Entry<T> peek(long now) {
    return peek(now, 0);
  }

  /** Returns the entry that is next of those of this priority and higher ones; null if none. */
  public Entry<T> peek(long now, int leastRank) {
    Entry<T> best = null;
    for (Account<T> application : all.children()) {
      if (application.waiting == 0) {
        continue;
      }
      for (Account<T> client : application.children()) {
        for (int i = leastRank; client.waiting > 0 && i < client.queues.size(); i++) {
          if (!client.queues.get(i).isEmpty()) {
            Entry<T> head = client.queues.get(i).firstEntry().getValue();
            best = best == null || goesBefore(head, best, now) ? head : best;
          }
        }
      }
    }
    return best;
  }

  private static <T> boolean goesBefore(Entry<T> a, Entry<T> b, long now) {
    long fairness = usedMore(a.account, b.account);
    if (fairness != 0) {
      return fairness < 0;
    }
    int ranks = a.rank(now) - b.rank(now);
    return ranks != 0 ? ranks > 0 : a.number < b.number;
  }

  /** Returns by how many nanoseconds one has used more than the other, each seen as a whole. */
  static <T> long usedMore(Account<T> a, Account<T> b) {
    return a.parent == b.parent
        ? a.usedNanos - b.usedNanos
        : a.parent.usedNanos - b.parent.usedNanos;
  }
}
