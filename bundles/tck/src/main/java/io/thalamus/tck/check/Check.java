// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.vectors.Outcome;
import java.util.Objects;

/**
 * One check of a device. Immutable; runs in the calling thread, any number of times.
 *
 * @param name AOSP's, where it has one; then the operand type and the like
 * @param body what is tried
 */
public record Check(String name, Body body) {
  public Check {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(body, "body");
  }

  /** The body of a check. */
  @FunctionalInterface
  public interface Body {
    /** Returns where nothing is wrong; {@link Expect} and whatever else is thrown end the check. */
    void run() throws Exception;
  }

  /** Returns how the check ends; whatever it throws is a fault of the device. */
  public Outcome run() throws InterruptedException {
    return run(body);
  }

  /** Returns how a check without a name ends. */
  public static Outcome run(Body body) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    try {
      body.run();
      return Outcome.PASSED;
    } catch (InterruptedException e) {
      throw e;
    } catch (OutcomeException e) {
      return e.outcome();
    } catch (Exception | Error e) {
      return Outcome.Failed.of(e);
    }
  }
}
