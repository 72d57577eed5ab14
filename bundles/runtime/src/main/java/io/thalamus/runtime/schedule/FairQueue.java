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
 * <p>Those that have risen to a priority take turns with those that have it: behind one of these,
 * one of those. So nothing waits without end, and a queue that is full of those that have waited
 * for long delays one of high priority by one of them.
 *
 * <p>Each class, of one application, client and priority, is bounded. A refused entry is promised
 * room from a moment on. If newcomers could take it, most of those who come back would be refused
 * again: while an overload lasts, there are several newcomers for each place that becomes free. So
 * newcomers may fill only half of a class while a promise is open, and who comes back for a promise
 * is refused only where the class became several times as long, since less is served than expected.
 *
 * @param <T> what waits
 */
public final class FairQueue<T> {
  /** An entry rises by one priority each time that it has waited so long. */
  static final long AGING_NANOS = Duration.ofMillis(500).toNanos();

  /** The most of one class that wait, those included that were promised room, in full classes. */
  static final int PROMISED_CLASSES = 4;

  /** The most of one class that are promised room, in full classes. */
  static final int MOST_PROMISED = 64;

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

    /** Returns its place in the order of priorities: the higher goes first. */
    int order(long now) {
      int risen = rank(now);
      return risen == rank ? orderOf(rank) : 2 * risen + (account.isOwed(risen) ? 2 : 0);
    }
  }

  /**
   * Adds something at the end of its class; returns null if the class has no room for it.
   *
   * @param contender that it belongs to, and whose promise it comes for
   */
  public Entry<T> add(Contender contender, long now, T item) {
    Contender standing = contender.standing();
    Account<T> account = account(standing.application());
    int rank = standing.priority().ordinal();
    if (queue(account, rank).size() >= room(contender, account.promises(rank), now)) {
      return null;
    }
    return add(account, rank, now, item);
  }

  /** Adds something that is neither refused nor promised room. */
  public Entry<T> add(Application application, Priority priority, long now, T item) {
    return add(account(application), priority.ordinal(), now, item);
  }

  private Entry<T> add(Account<T> account, int rank, long now, T item) {
    Entry<T> entry = new Entry<>(item, nextNumber());
    insert(entry, account, rank, now);
    return entry;
  }

  /** Returns how many of a class may wait before this one is refused; redeems its promise. */
  private long room(Contender contender, Promises promises, long now) {
    Promises.Promise promise = contender.promise;
    if (promises.isOpen(promise, now) && now - promise.nanos >= 0) {
      promises.redeem(promise);
      return (long) PROMISED_CLASSES * most;
    }
    return promises.open(now) == 0 ? most : half();
  }

  /** Returns how many newcomers may wait beside those that were promised room: one at least. */
  private int half() {
    return Math.ceilDiv(most, 2);
  }

  /** Returns the next number in the order of arrival. */
  long nextNumber() {
    return numbers++;
  }

  /** Adds an entry with a number of its own, before all that came after it. */
  void insert(Entry<T> entry, Contender contender, long sinceNanos) {
    Contender standing = contender.standing();
    insert(entry, account(standing.application()), standing.priority().ordinal(), sinceNanos);
  }

  private void insert(Entry<T> entry, Account<T> account, int rank, long now) {
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
   * Promises room to one that was refused: when half of its class is free for it, once all have
   * come that were promised room before it. Each class that waits is expected to get an equal part
   * of what is served; the other half takes in what is served later than expected, and newcomers
   * what is served earlier. One that comes before its time is promised the same again.
   *
   * <p>If too many of the class are promised room already, this one gets a time, and no room is
   * kept for it.
   *
   * @param interval the mean time between two that are served, in nanoseconds
   * @return how long it has to wait
   */
  public Duration untilRoom(Contender refused, long now, double interval) {
    Contender standing = refused.standing();
    Account<T> account = account(standing.application());
    int rank = standing.priority().ordinal();
    Promises promises = account.promises(rank);
    long moment;
    if (promises.isOpen(refused.promise, now)) {
      moment = refused.promise.nanos;
    } else {
      int open = promises.open(now);
      long ahead = (long) queue(account, rank).size() + open;
      moment = now + Math.round((ahead + 1 - half()) * classes() * interval);
      if (open < (long) MOST_PROMISED * most) {
        refused.promise = promises.add(moment);
        moment = refused.promise.nanos;
      }
    }
    return Duration.ofNanos(Math.max(1, moment - now));
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

  /**
   * Returns the place of a priority, an ordinal, in the order: just before what has risen to it.
   */
  static int orderOf(int rank) {
    return 2 * rank + 1;
  }

  /** Takes out an entry whose turn it is. */
  public void take(Entry<T> entry, long now) {
    if (remove(entry)) {
      int rank = entry.rank(now);
      entry.account.setOwed(rank, rank == entry.rank && hasRisen(entry.account, rank, now));
    }
  }

  /** Returns whether one of an account waits that has risen to a priority. */
  private static <T> boolean hasRisen(Account<T> account, int rank, long now) {
    for (int i = 0; i < rank; i++) {
      TreeMap<Long, Entry<T>> queue = account.queues.get(i);
      if (!queue.isEmpty() && queue.firstEntry().getValue().rank(now) >= rank) {
        return true;
      }
    }
    return false;
  }

  /** Takes an entry out, and returns whether it waited. */
  public boolean remove(Entry<T> entry) {
    boolean waited = queue(entry.account, entry.rank).remove(entry.number) != null;
    if (waited) {
      entry.account.count(-1);
      entry.account.exit();
    }
    return waited;
  }

  /** Ranks an entry anew whose contender has inherited the rank of another, or lost that again. */
  public void rerank(Entry<T> entry, Contender contender, long now) {
    if (remove(entry)) {
      insert(entry, contender, now);
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
    int order = a.order(now) - b.order(now);
    return order != 0 ? order > 0 : a.number < b.number;
  }

  /** Returns by how many nanoseconds one has used more than the other, each seen as a whole. */
  static <T> long usedMore(Account<T> a, Account<T> b) {
    return a.parent == b.parent
        ? a.usedNanos - b.usedNanos
        : a.parent.usedNanos - b.parent.usedNanos;
  }
}
