// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** Races for {@link Claim}: nothing stale is left in it, and nobody releases what is in use. */
public final class ClaimStress {
  private ClaimStress() {}

  /** A thing whose contents are good until something is exchanged. */
  private static class Thing {
    final Claim claim = new Claim(this::release, this::end);
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger faults = new AtomicInteger();
    private volatile boolean isExchanged;

    // Written by whoever has the claim, or releases.
    private int contents;
    private int ends;

    private void release() {
      enter();
      contents = 0;
      leave();
    }

    private void end() {
      ends++;
    }

    private void enter() {
      if (inside.incrementAndGet() != 1) {
        faults.incrementAndGet();
      }
    }

    private void leave() {
      inside.decrementAndGet();
    }

    /** Uses the thing, which keeps contents that are good at that moment. */
    final void use() {
      if (claim.take()) {
        enter();
        contents = isExchanged ? 0 : 1;
        leave();
        claim.exit();
      }
    }

    final void exchange() {
      isExchanged = true;
      claim.empty();
    }

    final void tell(III_Result result) {
      result.r1 = contents;
      result.r2 = ends;
      result.r3 = faults.get();
    }
  }

  /** A user while the contents become stale. */
  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "Nothing stale is left.")
  @State
  public static class Exchange extends Thing {
    @Actor
    public void first() {
      use();
      use();
    }

    @Actor
    public void second() {
      exchange();
    }

    @Arbiter
    public void arbiter(III_Result result) {
      tell(result);
    }
  }

  /** Two users, of whom one makes the contents stale. */
  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "Nothing stale is left.")
  @State
  public static class Users extends Thing {
    @Actor
    public void first() {
      use();
    }

    @Actor
    public void second() {
      use();
      exchange();
    }

    @Arbiter
    public void arbiter(III_Result result) {
      tell(result);
    }
  }

  /** A user while the contents become stale and the thing is closed. */
  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "Released, and ended once.")
  @State
  public static class Close extends Thing {
    @Actor
    public void first() {
      use();
      use();
    }

    @Actor
    public void second() {
      exchange();
      claim.close();
    }

    @Arbiter
    public void arbiter(III_Result result) {
      tell(result);
    }
  }

  /** A thread that makes the contents stale while another one closes the thing. */
  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "Released, and ended once.")
  @State
  public static class CloseStale extends Thing {
    @Actor
    public void first() {
      use();
      exchange();
    }

    @Actor
    public void second() {
      claim.close();
    }

    @Arbiter
    public void arbiter(III_Result result) {
      tell(result);
    }
  }
}
