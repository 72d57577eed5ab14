// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Races for an {@link EventFlag}: no event is lost, doubled, or seen before what comes with it. */
public final class EventFlagStress {
  /** So long that a wait that ends by it has lost its event. */
  private static final long NEVER = TimeUnit.SECONDS.toNanos(2);

  /** Once something is lost there is no reason to wait so long again. */
  private static final AtomicLong PATIENCE = new AtomicLong(NEVER);

  private static final int LOST = -1;
  private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(1);

  /** Words that one state after the other uses: far more than are used at the same time. */
  private static final int WORDS = 1 << 20;

  private static final SharedMemory MEMORY =
      SharedMemory.allocate(MemoryKind.ASHMEM, (long) WORDS * EventFlag.BYTES);
  private static final AtomicInteger USED = new AtomicInteger();
  private static final Sleep POLLING = new Polling("a race wants it");

  private EventFlagStress() {}

  private static EventFlag flag(Sleep sleep) {
    long offset = (USED.getAndIncrement() & WORDS - 1L) * EventFlag.BYTES;
    // No sleep ends by itself, or it would hide what is lost.
    EventFlag flag = new EventFlag(MEMORY, offset, sleep, NEVER);
    flag.await(Integer.MAX_VALUE, 0);
    return flag;
  }

  /** Waits for an event, which is there at the latest when a lost wake-up has cost all patience. */
  private static int awaitEvent(EventFlag flag, int bits) {
    long patience = PATIENCE.get();
    long start = System.nanoTime();
    int taken = flag.await(bits, patience);
    if (taken != 0 && System.nanoTime() - start < patience) {
      return taken;
    }
    PATIENCE.set(SHORT);
    return LOST;
  }

  /** A thread sleeps, or is about to, while another wakes it. */
  @JCStressTest
  @Outcome(id = "1, 5", expect = Expect.ACCEPTABLE, desc = "woken, with what was written before")
  @State
  public static class WakeAndAwait {
    private final EventFlag flag = flag(Sleep.best());
    private int written;

    @Actor
    public void wake() {
      written = 5;
      flag.wake(1);
    }

    @Actor
    public void await(II_Result r) {
      r.r1 = awaitEvent(flag, 1);
      r.r2 = written;
    }
  }

  /** The same where there is no futex. */
  @JCStressTest
  @Outcome(id = "1, 5", expect = Expect.ACCEPTABLE, desc = "woken, with what was written before")
  @State
  public static class WakeAndPoll {
    private final EventFlag flag = flag(POLLING);
    private int written;

    @Actor
    public void wake() {
      written = 5;
      flag.wake(1);
    }

    @Actor
    public void await(II_Result r) {
      r.r1 = awaitEvent(flag, 1);
      r.r2 = written;
    }
  }

  /** Each wakes the other one: of two that sleep at one word, the right one goes on. */
  @JCStressTest
  @Outcome(id = "1, 2", expect = Expect.ACCEPTABLE, desc = "both are woken")
  @State
  public static class WakeEachOther {
    private final EventFlag flag = flag(Sleep.best());

    @Actor
    public void first(II_Result r) {
      r.r1 = awaitEvent(flag, 1);
      flag.wake(2);
    }

    @Actor
    public void second(II_Result r) {
      flag.wake(1);
      r.r2 = awaitEvent(flag, 2);
    }
  }

  /** An event that is set already is set again: whoever takes it sees what both have written. */
  @JCStressTest
  @Outcome(id = "1, 5", expect = Expect.ACCEPTABLE, desc = "taken first, and again")
  @Outcome(id = "0, 5", expect = Expect.ACCEPTABLE, desc = "taken once, after both")
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "taken first; the rest is still there")
  @State
  public static class WakeAgain {
    private final EventFlag flag = flag(Sleep.best());
    private int written;

    public WakeAgain() {
      flag.wake(1);
    }

    @Actor
    public void wake() {
      written = 5;
      flag.wake(1);
    }

    @Actor
    public void take(II_Result r) {
      flag.await(1, 0);
      r.r2 = written;
    }

    @Arbiter
    public void end(II_Result r) {
      r.r1 = flag.await(1, 0);
    }
  }

  /** Two events are set at the same time. */
  @JCStressTest
  @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "both are there")
  @State
  public static class WakeAndWake {
    private final EventFlag flag = flag(Sleep.best());

    @Actor
    public void first() {
      flag.wake(1);
    }

    @Actor
    public void second() {
      flag.wake(2);
    }

    @Arbiter
    public void end(I_Result r) {
      r.r1 = flag.await(3, 0);
    }
  }

  /** Two threads take one event. */
  @JCStressTest
  @Outcome(
      id = {"1, 0, 0", "0, 1, 0"},
      expect = Expect.ACCEPTABLE,
      desc = "one of them has it")
  @State
  public static class TakeAndTake {
    private final EventFlag flag = flag(Sleep.best());

    public TakeAndTake() {
      flag.wake(1);
    }

    @Actor
    public void first(III_Result r) {
      r.r1 = flag.await(1, 0);
    }

    @Actor
    public void second(III_Result r) {
      r.r2 = flag.await(1, 0);
    }

    @Arbiter
    public void end(III_Result r) {
      r.r3 = flag.await(1, 0);
    }
  }
}
