// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Failed;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Supervisor.Work;
import io.thalamus.runtime.call.Terms.Admission;
import java.time.Duration;
import java.util.BitSet;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Races for a call of a driver: it has one end, and a late answer is given away once. */
public final class CallStress {
  private static final int ANSWERED = 1;
  private static final int ABANDONED = 2;
  private static final int REFUSED = 3;
  private static final int FAILED = 4;

  private static final Terms TERMS =
      new Terms("stress", Admission.UNTIL_DEPARTURE, Optional.of(Duration.ofDays(1)));

  /** For all tests of one process; their threads are daemons and end with it. */
  private static final ExecutorService THREADS = RuntimeThreads.forCalls();

  private static final Timekeeper TIME = new SystemTime();

  private CallStress() {}

  private static int kind(Answer<?> answer) {
    return switch (answer) {
      case Answered<?> answered -> ANSWERED;
      case Abandoned<?> abandoned -> ABANDONED;
      case Refused<?> refused -> REFUSED;
      case Failed<?> failed -> FAILED;
    };
  }

  /** A driver that is never asked for anything but to be there. */
  private static final class Driver implements Device {
    private static final Device INSTANCE = new Driver();

    @Override
    public DeviceInfo info() {
      throw new UnsupportedOperationException("a driver without functions");
    }

    @Override
    public BitSet supportedOperations(Model model) {
      throw new UnsupportedOperationException("a driver without functions");
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) {
      throw new UnsupportedOperationException("a driver without functions");
    }
  }

  /** A call without a supervisor. */
  abstract static class Guarded {
    final AtomicInteger late = new AtomicInteger();
    final GuardedCall<Integer> call;

    Guarded() {
      AtomicInteger count = late;
      call =
          new GuardedCall<>(TERMS, TIME.nanoTime(), TIME, answer -> count.addAndGet(kind(answer)));
      call.setWork(() -> new Answered<>(1));
    }
  }

  /** The driver answers while its caller is sent on. */
  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "answered in time")
  @Outcome(id = "2, 2, 1", expect = Expect.ACCEPTABLE, desc = "abandoned, one late answer")
  @State
  public static class AnswerAndAbandon extends Guarded {
    @Actor
    public void answer() {
      call.run();
    }

    @Actor
    public void abandon(III_Result r) {
      call.abandon(Abandonment.LEFT);
      r.r1 = kind(call.await());
    }

    @Arbiter
    public void end(III_Result r) {
      r.r2 = kind(call.await());
      r.r3 = late.get();
    }
  }

  /** The driver answers while its caller begins to wait. */
  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "answered in time")
  @State
  public static class AnswerAndAwait extends Guarded {
    @Actor
    public void answer() {
      call.run();
    }

    @Actor
    public void await(II_Result r) {
      r.r1 = kind(call.await());
    }

    @Arbiter
    public void end(II_Result r) {
      r.r2 = late.get();
    }
  }

  /** A supervisor, and what its driver and the consumer of late answers saw. */
  abstract static class Supervised {
    final Supervisor supervisor = new Supervisor(Driver.INSTANCE, THREADS, TIME);
    final AtomicInteger asked = new AtomicInteger();
    final AtomicInteger late = new AtomicInteger();

    final int call(Work<Integer> work) {
      return kind(
          supervisor.call(
              TERMS,
              (driver, control) -> {
                asked.incrementAndGet();
                return work.ask(driver, control);
              },
              answer -> late.addAndGet(kind(answer))));
    }

    /** Has the device leave without waiting for its calls. */
    final int leaveNow() {
      return supervisor.leave(TIME.nanoTime());
    }

    final void end(IIII_Result r) {
      int running = leaveNow();
      while (running > 0) {
        Thread.onSpinWait();
        running = leaveNow();
      }
      r.r2 = asked.get();
      r.r3 = late.get();
      r.r4 = running;
    }
  }

  /** The device leaves at once while it is called. */
  @JCStressTest
  @Outcome(id = "1, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "answered in time")
  @Outcome(id = "2, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "abandoned, one late answer")
  @Outcome(id = "3, 0, 0, 0", expect = Expect.ACCEPTABLE, desc = "refused, never asked")
  @State
  public static class CallAndDeparture extends Supervised {
    @Actor
    public void call(IIII_Result r) {
      r.r1 = call((driver, control) -> 1);
    }

    @Actor
    public void leave() {
      leaveNow();
    }

    @Arbiter
    public void arbiter(IIII_Result r) {
      end(r);
    }
  }

  /** The device leaves while it is called, and answers only when nobody waits for it. */
  @JCStressTest
  @Outcome(id = "2, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "abandoned, one late answer")
  @Outcome(id = "3, 0, 0, 0", expect = Expect.ACCEPTABLE, desc = "refused, never asked")
  @State
  public static class HungCallAndDeparture extends Supervised {
    @Actor
    public void call(IIII_Result r) {
      r.r1 =
          call(
              (driver, control) -> {
                while (control.checkpoint() == Signal.CONTINUE) {
                  Thread.onSpinWait();
                }
                return 1;
              });
    }

    @Actor
    public void leave() {
      leaveNow();
    }

    @Arbiter
    public void arbiter(IIII_Result r) {
      end(r);
    }
  }

  /** The device leaves while it is called, and its departure waits for the call. */
  @JCStressTest
  @Outcome(id = "1, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "answered before it left")
  @Outcome(id = "3, 0, 0, 0", expect = Expect.ACCEPTABLE, desc = "refused, never asked")
  @State
  public static class CallAndWaitingDeparture extends Supervised {
    @Actor
    public void call(IIII_Result r) {
      Work<Integer> work =
          (driver, control) -> {
            if (!supervisor.isOf(driver)) {
              throw new IllegalStateException("called after it left");
            }
            return 1;
          };
      r.r1 = call(work);
    }

    @Actor
    public void leave() {
      supervisor.leave(TIME.nanoTime() + Duration.ofDays(1).toNanos());
    }

    @Arbiter
    public void arbiter(IIII_Result r) {
      end(r);
    }
  }
}
