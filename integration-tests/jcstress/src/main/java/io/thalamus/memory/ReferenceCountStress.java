// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Races for a {@link ReferenceCount}: its resource is freed once, and never under a use. */
public final class ReferenceCountStress {
  private static final int REFUSED = 0;
  private static final int USED = 1;
  private static final int FREED_UNDER_USE = -1;
  private static final int USED_AFTER_FREE = -2;

  private ReferenceCountStress() {}

  /** A count, and how often its resource was freed. */
  abstract static class Counted {
    final AtomicInteger freed = new AtomicInteger();
    final ReferenceCount count = new ReferenceCount(freed::incrementAndGet);

    /** Ends a use that has begun, and returns what became of it. */
    final int use(boolean isRetained) {
      if (!isRetained) {
        return REFUSED;
      }
      boolean isFreed = freed.get() != 0;
      count.release();
      return isFreed ? FREED_UNDER_USE : USED;
    }

    /** Returns how often the resource was freed, at the end. */
    final int freed() {
      return count.retain() || count.retainUnlessFreed() ? USED_AFTER_FREE : freed.get();
    }
  }

  /** The last use ends while the owner closes. */
  @JCStressTest
  @Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "freed once")
  @State
  public static class ReleaseAndClose extends Counted {
    public ReleaseAndClose() {
      count.retain();
    }

    @Actor
    public void release() {
      count.release();
    }

    @Actor
    public void close() {
      count.close();
    }

    @Arbiter
    public void end(I_Result r) {
      r.r1 = freed();
    }
  }

  /** A use begins and ends while the owner closes. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "refused, freed once")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "used, freed once")
  @State
  public static class RetainAndClose extends Counted {
    @Actor
    public void use(II_Result r) {
      r.r1 = use(count.retain());
    }

    @Actor
    public void close() {
      count.close();
    }

    @Arbiter
    public void end(II_Result r) {
      r.r2 = freed();
    }
  }

  /** Two threads close. */
  @JCStressTest
  @Outcome(
      id = {"1, 0, 1", "0, 1, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "closed by one of them, freed once")
  @State
  public static class CloseAndClose extends Counted {
    @Actor
    public void first(III_Result r) {
      r.r1 = count.close() ? 1 : 0;
    }

    @Actor
    public void second(III_Result r) {
      r.r2 = count.close() ? 1 : 0;
    }

    @Arbiter
    public void end(III_Result r) {
      r.r3 = freed();
    }
  }

  /** The last two uses of a closed resource end. */
  @JCStressTest
  @Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "freed once")
  @State
  public static class ReleaseAndRelease extends Counted {
    public ReleaseAndRelease() {
      count.retain();
      count.retain();
      count.close();
    }

    @Actor
    public void first() {
      count.release();
    }

    @Actor
    public void second() {
      count.release();
    }

    @Arbiter
    public void end(I_Result r) {
      r.r1 = freed();
    }
  }

  /** A use of a closed resource begins while the last other one ends. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "refused, freed once")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "used, freed once")
  @State
  public static class RetainUnlessFreedAndRelease extends Counted {
    public RetainUnlessFreedAndRelease() {
      count.retain();
      count.close();
    }

    @Actor
    public void use(II_Result r) {
      r.r1 = use(count.retainUnlessFreed());
    }

    @Actor
    public void release() {
      count.release();
    }

    @Arbiter
    public void end(II_Result r) {
      r.r2 = freed();
    }
  }

  /** Plain writes before a release and before a close, read where the resource is freed. */
  @JCStressTest
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "both are seen")
  @State
  public static class WritesBeforeFree {
    private final int[] writes = new int[2];
    private final int[] seen = new int[2];
    private final ReferenceCount count;

    public WritesBeforeFree() {
      int[] from = writes;
      int[] to = seen;
      count = new ReferenceCount(() -> System.arraycopy(from, 0, to, 0, to.length));
      count.retain();
    }

    @Actor
    public void release() {
      writes[0] = 1;
      count.release();
    }

    @Actor
    public void close() {
      writes[1] = 1;
      count.close();
    }

    @Arbiter
    public void end(II_Result r) {
      r.r1 = seen[0];
      r.r2 = seen[1];
    }
  }
}
