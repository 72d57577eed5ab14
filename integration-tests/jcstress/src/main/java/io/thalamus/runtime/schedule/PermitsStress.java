// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.model.Priority;
import io.thalamus.runtime.schedule.Permits.Turn;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.LI_Result;
import org.openjdk.jcstress.infra.results.LLI_Result;

/** Races for {@link Permits}: none is held twice, left over, or free while somebody waits. */
public final class PermitsStress {
  private static final Application APPLICATION = new Application("stress");
  private static final int ROUNDS = 3;

  /** The largest number of checkpoints that a holder passes: time for another one to ask. */
  private static final int CHECKPOINTS = 1_000;

  /**
   * The number of times that one that waits goes to sleep: far more often than anything here takes.
   */
  private static final int SLEEPS = 1_000;

  private PermitsStress() {}

  /** Permits, and the number of faults that were seen. */
  private static final class Watch {
    /** True for a thread that was about to sleep and has not read the clock since. */
    private static final ThreadLocal<Boolean> SLEEPING = ThreadLocal.withInitial(() -> false);

    final Permits permits;
    private final AtomicInteger releasing = new AtomicInteger();
    private final AtomicInteger working = new AtomicInteger();
    private final AtomicInteger faults = new AtomicInteger();
    private final Queue<Run> released = new ConcurrentLinkedQueue<>();

    Watch(int count) {
      this(count, false);
    }

    Watch(int count, boolean isLending) {
      permits = new Permits("stress", count, Integer.MAX_VALUE, this::nanoTime, isLending);
    }

    /**
     * Returns a time that stands still. The clock is read by whoever looks again after a sleep,
     * which mends a lost wake-up: so it is seen here, before that. It is also read in the middle of
     * handing permits over, when one may be free that the next one is about to get.
     */
    private long nanoTime() {
      boolean looksAgain = SLEEPING.get();
      SLEEPING.set(false);
      // In this order: who gives a permit back needs the lock for that while somebody waits.
      if (looksAgain
          && Thread.holdsLock(permits)
          && permits.waiting() != 0
          && permits.held() < permits.count()
          && releasing.get() == 0) {
        faults.incrementAndGet();
      }
      return 0;
    }

    void expect(boolean condition) {
      if (!condition) {
        faults.incrementAndGet();
      }
    }

    Run holder(Priority priority) {
      Run holder = new Run(priority);
      expect(permits.acquire(holder, true) == Turn.GRANTED);
      return holder;
    }

    /** Waits for a permit, and does something with it; returns how the wait ended. */
    String await(Run run, Runnable work) {
      Turn turn = permits.acquire(run, true);
      if (turn == Turn.GRANTED) {
        work.run();
        release(run);
      }
      return turn.name();
    }

    void work() {
      expect(working.incrementAndGet() <= permits.count());
      Thread.onSpinWait();
      working.decrementAndGet();
    }

    void release(Run run) {
      releasing.incrementAndGet();
      permits.release(run);
      releasing.decrementAndGet();
      released.add(run);
    }

    /** Returns the number of faults, and of what is left over, at the end. */
    int wrong() {
      // Who is still charged takes the turns of others of its application for ever.
      released.forEach(run -> expect(!run.isCounted && run.slot() < 0 && run.waiter == null));
      return faults.get() + permits.held() + Math.abs(permits.waiting());
    }
  }

  /** An execution that goes on until it is stopped. */
  private static final class Run extends Contender {
    private volatile boolean isStopped;
    private int sleeps;

    /** The checkpoints that it has passed. */
    private int passed;

    Run(Priority priority) {
      super(APPLICATION, priority);
    }

    void stop() {
      isStopped = true;
      wake();
    }

    /** Works and passes checkpoints until something is over, it must stop, or it has enough. */
    Signal pass(Runnable work, BooleanSupplier isOver) {
      Signal signal;
      do {
        work.run();
        signal = checkpoint();
        passed++;
      } while (signal == Signal.CONTINUE && !isOver.getAsBoolean() && passed < CHECKPOINTS);
      return signal;
    }

    @Override
    protected long nanosLeft() {
      Watch.SLEEPING.set(true);
      if (++sleeps > SLEEPS) {
        isStopped = true;
      }
      return TimeUnit.DAYS.toNanos(1);
    }

    @Override
    public Signal status() {
      return isStopped ? Signal.CANCELLED : Signal.CONTINUE;
    }
  }

  /** Two take turns with what has no lock of its own, and the more urgent one interrupts. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "one at a time, which sees the last")
  @State
  public static class OnePermit {
    private final Watch watch = new Watch(1);
    private int total;

    private void execute(Priority priority) {
      for (int i = 0; i < ROUNDS; i++) {
        Run run = watch.holder(priority);
        total++;
        watch.expect(run.checkpoint() == Signal.CONTINUE);
        total++;
        watch.release(run);
      }
    }

    @Actor
    public void low() {
      execute(Priority.LOW);
    }

    @Actor
    public void high() {
      execute(Priority.HIGH);
    }

    @Arbiter
    public void end(II_Result r) {
      r.r1 = 4 * ROUNDS - total;
      r.r2 = watch.wrong();
    }
  }

  /** Two want two permits each, the second one only if it is free. */
  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "never more than two at a time")
  @State
  public static class TwoPermits {
    private final Watch watch = new Watch(2);

    private void execute() {
      for (int i = 0; i < ROUNDS; i++) {
        Run first = watch.holder(Priority.MEDIUM);
        Run second = new Run(Priority.MEDIUM);
        boolean isSecond = watch.permits.tryAcquire(second, true);
        watch.work();
        if (isSecond) {
          watch.release(first);
          watch.work();
        }
        watch.release(isSecond ? second : first);
      }
    }

    @Actor
    public void one() {
      execute();
    }

    @Actor
    public void other() {
      execute();
    }

    @Arbiter
    public void end(I_Result r) {
      r.r1 = watch.wrong();
    }
  }

  /** The holder gives its permit back while another one begins to wait. */
  @JCStressTest
  @Outcome(id = "GRANTED, 0", expect = Expect.ACCEPTABLE, desc = "it got the permit")
  @State
  public static class ReleaseAndWait {
    private final Watch watch = new Watch(1);
    private final Run holder = watch.holder(Priority.MEDIUM);

    @Actor
    public void release() {
      watch.release(holder);
    }

    @Actor
    public void await(LI_Result r) {
      r.r1 = watch.await(new Run(Priority.MEDIUM), () -> {});
    }

    @Arbiter
    public void end(LI_Result r) {
      r.r2 = watch.wrong();
    }
  }

  /** One that waits is stopped while a permit is handed to it. */
  @JCStressTest
  @Outcome(id = "GRANTED, 0", expect = Expect.ACCEPTABLE, desc = "it got the permit")
  @Outcome(id = "STOPPED, 0", expect = Expect.ACCEPTABLE, desc = "the permit stayed free")
  @State
  public static class StopAndGrant {
    private final Watch watch = new Watch(1);
    private final Run holder = watch.holder(Priority.MEDIUM);
    private final Run run = new Run(Priority.MEDIUM);

    @Actor
    public void stop() {
      run.stop();
      watch.release(holder);
    }

    @Actor
    public void await(LI_Result r) {
      r.r1 = watch.await(run, () -> {});
    }

    @Arbiter
    public void end(LI_Result r) {
      r.r2 = watch.wrong();
    }
  }

  /** A holder passes checkpoints while a more urgent one begins to wait, and goes on after it. */
  @JCStressTest
  @Outcome(id = "CONTINUE, GRANTED, 0", expect = Expect.ACCEPTABLE, desc = "both had their turn")
  @State
  public static class PauseAndWait {
    private final Watch watch = new Watch(1);
    private final Run low = watch.holder(Priority.LOW);
    private int total;
    private volatile boolean isOver;

    @Actor
    public void low(LLI_Result r) {
      r.r1 = low.pass(() -> total++, () -> isOver).name();
      watch.expect(low.slot() == 0);
      total -= low.passed;
      watch.release(low);
    }

    @Actor
    public void high(LLI_Result r) {
      Runnable work =
          () -> {
            total++;
            isOver = true;
          };
      r.r2 = watch.await(new Run(Priority.HIGH), work);
    }

    @Arbiter
    public void end(LLI_Result r) {
      r.r3 = total - 1 + watch.wrong();
    }
  }

  /** A holder passes checkpoints and gives its permit back while a more urgent one borrows. */
  @JCStressTest
  @Outcome(id = "CONTINUE, GRANTED, 0", expect = Expect.ACCEPTABLE, desc = "both had their turn")
  @State
  public static class PauseAndBorrow {
    private final Watch watch = new Watch(1, true);
    private final Run low = watch.holder(Priority.LOW);
    private volatile boolean isOver;

    @Actor
    public void low(LLI_Result r) {
      r.r1 = low.pass(() -> {}, () -> isOver).name();
      watch.release(low);
      watch.release(watch.holder(Priority.LOW));
    }

    @Actor
    public void high(LLI_Result r) {
      r.r2 = watch.await(new Run(Priority.HIGH), () -> isOver = true);
    }

    @Arbiter
    public void end(LLI_Result r) {
      r.r3 = watch.wrong();
    }
  }

  /** The device leaves while somebody begins to wait for a permit that is never given back. */
  @JCStressTest
  @Outcome(id = "LEFT, 0", expect = Expect.ACCEPTABLE, desc = "it waits no more")
  @State
  public static class LeaveAndWait {
    private final Watch watch = new Watch(1);
    private final Run holder = watch.holder(Priority.MEDIUM);

    @Actor
    public void leave() {
      watch.permits.leave();
    }

    @Actor
    public void await(LI_Result r) {
      r.r1 = watch.await(new Run(Priority.HIGH), () -> {});
    }

    @Arbiter
    public void end(LI_Result r) {
      watch.release(holder);
      r.r2 = watch.wrong();
    }
  }

  /** The device leaves while a paused one may get its permit back. */
  @JCStressTest
  @Outcome(id = "CONTINUE, GRANTED, 0", expect = Expect.ACCEPTABLE, desc = "it holds a permit")
  @Outcome(id = "CANCELLED, GRANTED, 0", expect = Expect.ACCEPTABLE, desc = "it waits no more")
  @State
  public static class LeaveAndPause {
    private final Watch watch = new Watch(1);
    private final Run low = watch.holder(Priority.LOW);
    private volatile boolean isOver;

    @Actor
    public void low(LLI_Result r) {
      Signal signal = low.pass(() -> {}, () -> isOver);
      watch.expect(signal == Signal.CONTINUE ? low.slot() == 0 : watch.permits.isLostFor(low));
      watch.release(low);
      r.r1 = signal.name();
    }

    @Actor
    public void high(LLI_Result r) {
      r.r2 = watch.await(new Run(Priority.HIGH), watch.permits::leave);
      isOver = true;
    }

    @Arbiter
    public void end(LLI_Result r) {
      r.r3 = watch.wrong();
    }
  }
}
