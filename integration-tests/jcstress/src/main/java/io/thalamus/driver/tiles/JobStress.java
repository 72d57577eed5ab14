// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.tiles;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Races for {@link Job} and {@link Workers}: each tile runs once, before its step is over. */
public final class JobStress {
  private static final int TILES = 5;
  private static final int STEPS = 3;

  /** The number of looks of a helper for work: longer than a job mostly takes. */
  private static final int LOOKS = 200;

  private static final ExecutionConfig CANCELLED =
      ExecutionConfig.DEFAULT.with(() -> Signal.CANCELLED);

  /** For all tests of one process: two callers and one helper, which ends with the process. */
  private static final Workers WORKERS = new Workers(2, "stress");

  /** By place, the jobs that hold it. */
  private static final AtomicIntegerArray HOLDERS = new AtomicIntegerArray(64);

  private JobStress() {}

  /** Tiles that count the runs of each tile by plain writes, which its owner must see. */
  private static final class Counted implements Tiles {
    private final int[] runs = new int[TILES];

    @Override
    public void run(int participant, int tile) {
      runs[tile]++;
    }

    /** Returns the number of tiles that ran another number of times than once. */
    int wrong() {
      int wrong = 0;
      for (int count : runs) {
        wrong += count == 1 ? 0 : 1;
      }
      return wrong;
    }

    /** Returns the number of tiles that ran more than once. */
    int repeated() {
      int repeated = 0;
      for (int count : runs) {
        repeated += count > 1 ? 1 : 0;
      }
      return repeated;
    }

    int total() {
      int total = 0;
      for (int count : runs) {
        total += count;
      }
      return total;
    }
  }

  private static void help(Job job) {
    for (int i = 0; i < LOOKS; i++) {
      job.help(1, WORKERS);
    }
  }

  /** A helper takes tiles of one step after the other. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "each tile once, before its step ends")
  @State
  public static class StepAfterStep {
    private final Job job = new Job();
    private final Counted[] steps = new Counted[STEPS];

    public StepAfterStep() {
      for (int i = 0; i < STEPS; i++) {
        steps[i] = new Counted();
      }
    }

    @Actor
    public void owner(II_Result r) {
      int wrong = 0;
      for (Counted step : steps) {
        job.open(step, TILES);
        job.finish(ExecutionConfig.DEFAULT, WORKERS);
        wrong += step.wrong();
      }
      r.r1 = wrong;
    }

    @Actor
    public void helper() {
      help(job);
    }

    @Arbiter
    public void end(II_Result r) {
      for (Counted step : steps) {
        r.r2 += step.wrong();
      }
    }
  }

  /** The owner is cancelled after its first tile, and goes on with another step. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "no tile twice, none after the end")
  @State
  public static class CancelledStep {
    private final Job job = new Job();
    private final Counted cancelled = new Counted();
    private final Counted next = new Counted();
    private int atEnd;

    @Actor
    public void owner() {
      job.open(cancelled, TILES);
      job.finish(CANCELLED, WORKERS);
      atEnd = cancelled.total();
      job.open(next, TILES);
      job.finish(ExecutionConfig.DEFAULT, WORKERS);
    }

    @Actor
    public void helper() {
      help(job);
    }

    @Arbiter
    public void end(II_Result r) {
      r.r1 = cancelled.total() - atEnd;
      r.r2 = cancelled.repeated() + next.wrong();
    }
  }

  /** Two callers take places, one helper serves both of them, and the places are taken again. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "each has its place, each tile once")
  @State
  public static class Places {
    private static int execute() {
      Job job = new Job();
      int place = WORKERS.register(job);
      int wrong = place >= 0 && HOLDERS.incrementAndGet(place) == 1 ? 0 : 1;
      for (int i = 0; i < STEPS; i++) {
        Counted step = new Counted();
        job.open(step, TILES);
        WORKERS.wake();
        job.finish(ExecutionConfig.DEFAULT, WORKERS);
        wrong += step.wrong();
      }
      if (place >= 0) {
        HOLDERS.decrementAndGet(place);
      }
      WORKERS.unregister(place);
      return wrong;
    }

    @Actor
    public void first(II_Result r) {
      r.r1 = execute();
    }

    @Actor
    public void second(II_Result r) {
      r.r2 = execute();
    }
  }
}
