// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.model.NanoClock;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.events.LoadEvent;
import io.thalamus.runtime.events.PreemptEvent;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/**
 * The permits of one device: an execution holds one while the device works on it. Thread-safe.
 *
 * <p>While nobody waits, a permit is taken and given back by one compare-and-set each, and nothing
 * is counted: time that nobody else wanted is free. From the first one that has to wait on, all
 * holders are charged, permits are handed over in the order of a {@link FairQueue}, and holders
 * that the next one goes before are asked for theirs.
 *
 * <p>Where executions compute in the threads of their callers, the next one that goes before a
 * holder does not wait for it: it borrows a place beyond the permits, and as long as it has that,
 * one permit is given to nobody. So more than the permits are held only until the first of the
 * holders that it goes before reaches a checkpoint.
 *
 * <pre>
 * slot: free | contender that holds it; the last one is the place that is lent
 * </pre>
 *
 * <p>Whoever waits says so before it looks at the slots a last time, and whoever gives a permit
 * back looks at that afterwards.
 */
public final class Permits {
  /** The time that another application must have used more before it is asked for a permit. */
  static final long QUANTUM_NANOS = Duration.ofMillis(5).toNanos();

  /** The time for which one keeps the order to which it has risen by waiting. */
  static final long SLICE_NANOS = Duration.ofMillis(20).toNanos();

  /**
   * So many waiting threads look within {@link FairQueue#AGING_NANOS} whether one has risen. More
   * of them look less often, so that the looks do not fill the machine.
   */
  private static final int LOOKERS = 16;

  private final String device;
  private final int count;
  private final boolean isLending;
  private final AtomicReferenceArray<Contender> slots;
  private final NanoClock clock;
  private final ProcessorTurns turns;

  /** By slot, the time at which its holder's turn at a processor began, as the turns say it. */
  private final AtomicLongArray turnsBegan;

  /** Under the lock, which is this object's monitor. */
  private final FairQueue<Waiter> queue;

  /** The size of the queue. Written under the lock. */
  private volatile int waiting;

  /** Written under the lock. */
  private volatile boolean hasLeft;

  /**
   * The waiter that looks often, while holders fall behind others by time alone; null while none
   * does. A thread that wakes up takes the processor from one that works, so only one looks.
   * Written under the lock.
   */
  private volatile Waiter looker;

  private long preemptions;

  /**
   * The mean time for which those that had to wait held a permit, shared by the permits; 0 before
   * the first. Under the lock.
   */
  private double intervalNanos;

  /**
   * Permits that are all free.
   *
   * @param device whose permits they are
   * @param count at least 1
   * @param most executions of one application and priority that may wait
   * @param isLending whether one may begin before a holder has stood back for it
   */
  public Permits(String device, int count, int most, NanoClock clock, boolean isLending) {
    this(device, count, most, clock, isLending, ProcessorTurns.OF_PROCESS);
  }

  Permits(
      String device,
      int count,
      int most,
      NanoClock clock,
      boolean isLending,
      ProcessorTurns turns) {
    this.device = device;
    this.count = count;
    this.isLending = isLending;
    this.slots = new AtomicReferenceArray<>(count + 1);
    this.clock = clock;
    this.turns = turns;
    this.turnsBegan = new AtomicLongArray(count + 1);
    this.queue = new FairQueue<>(most);
  }

  /** The ends of a wait for a permit. */
  public enum Turn {
    /** The contender holds a permit. */
    GRANTED,
    /** Its control says that it must stop. */
    STOPPED,
    /** The device is leaving. */
    LEFT,
    /** Too many wait already. */
    FULL
  }

  /**
   * Takes a permit, and waits for one as long as the contender may.
   *
   * @param mayPause whether checkpoints of the contender may give it back
   */
  public Turn acquire(Contender contender, boolean mayPause) {
    turns.arrive(contender.priority());
    contender.begin(this, mayPause);
    if (waiting == 0 && !isLent() && take(contender)) {
      return Turn.GRANTED;
    }
    return acquireLater(contender);
  }

  /**
   * Takes a permit if one is free that nobody waits for, and returns whether it did: for a thread
   * that must not wait.
   */
  public boolean tryAcquire(Contender contender, boolean mayPause) {
    turns.arrive(contender.priority());
    contender.begin(this, mayPause);
    return waiting == 0 && !isLent() && !hasLeft && take(contender);
  }

  private boolean isLent() {
    return slots.get(count) != null;
  }

  private boolean take(Contender contender) {
    int first = (int) (Thread.currentThread().threadId() % count);
    for (int i = 0; i < count; i++) {
      int slot = first + i < count ? first + i : first + i - count;
      if (slots.get(slot) == null) {
        contender.setSlot(slot);
        if (slots.compareAndSet(slot, null, contender)) {
          return true;
        }
      }
    }
    contender.setSlot(-1);
    return false;
  }

  private Turn acquireLater(Contender contender) {
    Waiter waiter = new Waiter(contender);
    long start;
    boolean isAsked = false;
    synchronized (this) {
      start = clock.nanoTime();
      if (hasLeft) {
        return Turn.LEFT;
      }
      // First: who holds a permit came before.
      waiting++;
      settle(start);
      waiter.entry = queue.add(contender, start, waiter);
      if (waiter.entry == null) {
        waiting--;
        return Turn.FULL;
      }
      contender.number = waiter.entry.number;
      contender.waiter = waiter;
      FairQueue.Entry<Waiter> next = hand(start);
      if (!waiter.isGranted && next != null && ask(waiter.entry, start)) {
        isAsked = next.item() != waiter || !lend(waiter.entry, start);
      }
    }
    if (isAsked) {
      waiter.poll();
    }
    Turn turn = await(waiter);
    contender.beganNanos = clock.nanoTime();
    contender.waited(contender.beganNanos - start);
    return turn;
  }

  private Turn await(Waiter waiter) {
    Contender contender = waiter.contender;
    boolean isInterrupted = false;
    try {
      while (!waiter.isGranted) {
        if (hasLeft || waiter.isDropped || contender.status() != Signal.CONTINUE) {
          synchronized (this) {
            if (!waiter.isGranted) {
              drop(waiter);
              watch(clock.nanoTime());
              return hasLeft ? Turn.LEFT : Turn.STOPPED;
            }
          }
        } else {
          LockSupport.parkNanos(this, Math.min(lookNanos(waiter), contender.nanosLeft()));
          // A wait ends at once while the flag is set.
          isInterrupted |= Thread.interrupted();
          if (!waiter.isGranted) {
            look(waiter);
          }
        }
      }
      return Turn.GRANTED;
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private long lookNanos(Waiter waiter) {
    return waiter == looker
        ? QUANTUM_NANOS
        : FairQueue.AGING_NANOS * Math.ceilDiv(Math.max(1, waiting), LOOKERS);
  }

  /** Gives the permit of a contender back, or has it wait for one no more. */
  public void release(Contender contender) {
    int slot = contender.slot();
    if (slot >= 0 && slots.compareAndSet(slot, contender, null)) {
      // In this order: what is counted is counted before nobody waits any more.
      if (waiting == 0 && !contender.isCounted) {
        contender.setSlot(-1);
        return;
      }
    }
    releaseLate(contender);
  }

  private synchronized void releaseLate(Contender contender) {
    long now = clock.nanoTime();
    if (contender.beganNanos != 0 && contender.slot() >= 0) {
      double last = now - contender.beganNanos - contender.pausedNanos(now);
      intervalNanos = FairQueue.mean(intervalNanos, last / count);
    }
    free(contender, now);
    Waiter waiter = contender.waiter;
    if (waiter != null) {
      // A thread of a call that was given up.
      drop(waiter);
      LockSupport.unpark(waiter.thread);
    }
    settle(now);
    dispatch(now);
  }

  /** Takes the permit from a contender, and charges it. */
  private void free(Contender contender, long now) {
    int slot = contender.slot();
    contender.setSlot(-1);
    if (slot >= 0) {
      slots.compareAndSet(slot, contender, null);
    }
    if (contender.isCounted) {
      contender.isCounted = false;
      contender.account.charge(now - contender.chargedFromNanos);
      contender.account.exit();
      contender.account = null;
    }
  }

  private void drop(Waiter waiter) {
    if (!waiter.isDropped) {
      waiter.isDropped = true;
      waiter.contender.waiter = null;
      queue.remove(waiter.entry);
      waiting--;
    }
  }

  /**
   * Yields the processor of a contender's thread if that is due; the contender keeps its permit.
   * Called at its checkpoint.
   *
   * @return for how many nanoseconds others had the processor
   */
  long takeTurn(Contender contender) {
    int slot = contender.slot();
    if (slot < 0 || !turns.isOver(contender.standing().priority(), turnsBegan.getPlain(slot))) {
      return 0;
    }
    long start = clock.nanoTime();
    turnsBegan.setPlain(slot, turns.next());
    return clock.nanoTime() - start;
  }

  /**
   * Gives the permit of a contender to one that goes before it, if there is one, and waits until it
   * holds one again. Called at its checkpoint.
   *
   * @return what the contender is to do: after CONTINUE it holds a permit
   */
  Signal pause(Contender contender) {
    Waiter waiter;
    PreemptEvent event;
    synchronized (this) {
      contender.isWanted = false;
      int slot = contender.slot();
      if (slot < 0 || slots.get(slot) != contender || !contender.mayPause || hasLeft) {
        return Signal.CONTINUE;
      }
      long now = clock.nanoTime();
      settle(now);
      FairQueue.Entry<Waiter> next = queue.peek(now);
      Contender first =
          next != null && contender.isBehind(next, now)
              ? next.item().contender
              : borrower(contender, now);
      if (first == null) {
        return Signal.CONTINUE;
      }
      preemptions++;
      event = PreemptEvent.start(device, contender.label(), contender.execution(), first.label());
      waiter = new Waiter(contender);
      waiter.entry = new FairQueue.Entry<>(waiter, contender.number);
      // One that had risen has not had its turn.
      queue.insert(waiter.entry, contender, contender.hasRisen(now) ? contender.sinceNanos : now);
      free(contender, now);
      contender.waiter = waiter;
      contender.pauseBegins(now);
      waiting++;
      dispatch(now);
    }
    await(waiter);
    contender.pauseEnded(clock.nanoTime());
    if (event != null) {
      event.commit();
    }
    Signal signal = contender.status();
    return waiter.isGranted || signal != Signal.CONTINUE ? signal : Signal.CANCELLED;
  }

  /** Returns the borrower that this holder is to make up for; null if there is none. */
  private Contender borrower(Contender holder, long now) {
    Contender borrower = slots.get(count);
    return borrower != null
            && borrower != holder
            && freeSlots() == 0
            && holder.isBehind(borrower, now)
        ? borrower
        : null;
  }

  /** Lends a place to one that waits; returns false if there is none. */
  private boolean lend(FairQueue.Entry<Waiter> entry, long now) {
    if (!isLending || isLent()) {
      return false;
    }
    Contender contender = entry.item().contender;
    contender.setSlot(count);
    slots.set(count, contender);
    granted(entry, now);
    watch(now);
    return true;
  }

  /** Returns how many permits nobody holds. */
  private int freeSlots() {
    return count - held() + (isLent() ? 1 : 0);
  }

  /** Looks again, since time has passed. */
  private synchronized void look(Waiter waiter) {
    long now = clock.nanoTime();
    settle(now);
    FairQueue.Entry<Waiter> next = hand(now);
    if (next != null && next.item() == waiter) {
      // One that was asked before may be long in answering.
      ask(next, now);
    }
  }

  /** Has the first of those that wait look often, if the order changes by time alone. */
  private void watch(long now) {
    FairQueue.Entry<Waiter> next = queue.hasRivals() || hasRisen(now) ? queue.peek(now) : null;
    Waiter first = next == null ? null : next.item();
    if (looker != first) {
      looker = first;
      if (first != null && first.thread != Thread.currentThread()) {
        LockSupport.unpark(first.thread);
      }
    }
  }

  private boolean hasRisen(long now) {
    for (int i = 0; i < slots.length(); i++) {
      Contender holder = slots.get(i);
      if (holder != null && holder.hasRisen(now)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Charges the holders for the time until now. Begins to charge none while nobody waits: it might
   * give its permit back without looking here, and be charged for ever.
   */
  private void settle(long now) {
    for (int i = 0; i < slots.length(); i++) {
      Contender holder = slots.get(i);
      if (holder == null) {
        continue;
      }
      if (holder.isCounted) {
        holder.account.charge(now - holder.chargedFromNanos);
        holder.chargedFromNanos = now;
      } else if (waiting != 0) {
        count(holder, holder.ownOrder(), now);
      }
    }
  }

  /** Begins to charge a holder. */
  private void count(Contender holder, int order, long now) {
    Contender standing = holder.standing();
    holder.account = queue.account(standing.application());
    holder.account.enter();
    holder.chargedFromNanos = now;
    holder.order = order;
    holder.orderEndNanos = now + SLICE_NANOS;
    if (holder.number < 0) {
      holder.number = queue.nextNumber();
    }
    holder.isCounted = true;
  }

  /** Hands free permits to those that are next; returns the first that gets none, or null. */
  private FairQueue.Entry<Waiter> hand(long now) {
    FairQueue.Entry<Waiter> next = queue.peek(now);
    while (next != null && (!isLent() || freeSlots() > 1) && take(next.item().contender)) {
      granted(next, now);
      LockSupport.unpark(next.item().thread);
      next = queue.peek(now);
    }
    watch(now);
    return next;
  }

  /** Has one go on that waited and has a slot now. */
  private void granted(FairQueue.Entry<Waiter> entry, long now) {
    Contender contender = entry.item().contender;
    contender.isWanted = false;
    contender.waiter = null;
    // First counted: who is never idle in between keeps what is due to it. From this moment on:
    // the one before it may have worked on since this thread looked at the clock.
    count(contender, entry.order(now), clock.nanoTime());
    contender.sinceNanos = entry.sinceNanos;
    queue.take(entry, now);
    entry.item().isGranted = true;
    waiting--;
  }

  /** Hands out what is free, and asks for one more if the next gets none. */
  private void dispatch(long now) {
    FairQueue.Entry<Waiter> next = hand(now);
    if (next != null && !isAsked()) {
      ask(next, now);
    }
  }

  private boolean isAsked() {
    for (int i = 0; i < slots.length(); i++) {
      Contender holder = slots.get(i);
      if (holder != null && holder.isWanted) {
        return true;
      }
    }
    return false;
  }

  /**
   * Asks for a permit that one goes before: of several, those that are last in order. The first of
   * them that reaches a checkpoint stands back; one that has lost its processor may be long in
   * that.
   *
   * @return whether there is such a holder
   */
  private boolean ask(FairQueue.Entry<Waiter> next, long now) {
    Contender last = null;
    for (int i = 0; i < slots.length(); i++) {
      Contender holder = slots.get(i);
      if (holder != null
          && holder.mayBeAsked(next, now)
          && (last == null || holder.order(last, now) > 0)) {
        last = holder;
      }
    }
    for (int i = 0; last != null && i < slots.length(); i++) {
      Contender holder = slots.get(i);
      if (holder != null && holder.mayBeAsked(next, now) && holder.order(last, now) == 0) {
        holder.isWanted = true;
      }
    }
    return last != null;
  }

  /** Ranks a contender anew that has inherited the rank of another, or lost that again. */
  synchronized void reconsider(Contender contender) {
    long now = clock.nanoTime();
    Waiter waiter = contender.waiter;
    settle(now);
    if (waiter != null) {
      queue.rerank(waiter.entry, contender, now);
    } else if (contender.isCounted) {
      contender.account.exit();
      count(contender, contender.ownOrder(), now);
    }
    dispatch(now);
  }

  /**
   * Promises room to one that was refused, as {@link FairQueue#untilRoom} does; empty before
   * anybody has waited.
   */
  public synchronized Optional<Duration> untilRoom(Contender refused) {
    return intervalNanos == 0
        ? Optional.empty()
        : Optional.of(queue.untilRoom(refused, clock.nanoTime(), intervalNanos));
  }

  /** Has all go on that wait, without a permit: the device leaves. */
  public synchronized void leave() {
    hasLeft = true;
    queue.entries().forEach(entry -> LockSupport.unpark(entry.item().thread));
  }

  /** Returns whether a contender lost its permit in a pause, since the device leaves. */
  public boolean isLostFor(Contender contender) {
    return hasLeft && contender.slot() < 0;
  }

  /** Tells whoever records who holds permits and who waits for one. */
  public synchronized void tellLoad(long sample) {
    Map<CompilationLabel, int[]> counts = new LinkedHashMap<>();
    int held = 0;
    for (int i = 0; i < slots.length(); i++) {
      Contender holder = slots.get(i);
      if (holder != null) {
        held++;
        counts.computeIfAbsent(holder.label(), any -> new int[2])[0]++;
      }
    }
    queue
        .entries()
        .forEach(
            entry ->
                counts.computeIfAbsent(entry.item().contender.label(), any -> new int[2])[1]++);
    LoadEvent.tell(sample, device, held, queue.size(), count, preemptions);
    counts.forEach((label, count) -> LoadEvent.tell(sample, device, label, count[0], count[1]));
  }

  /** Returns how many permits there are. */
  public int count() {
    return count;
  }

  /** Returns how many permits are held, the place included that is lent. */
  public int held() {
    int held = 0;
    for (int i = 0; i < slots.length(); i++) {
      held += slots.get(i) == null ? 0 : 1;
    }
    return held;
  }

  /** Returns how many wait for a permit, the paused ones included. */
  public int waiting() {
    return waiting;
  }

  /** Returns how often a running execution has stood back for another. */
  public synchronized long preemptions() {
    return preemptions;
  }
}
