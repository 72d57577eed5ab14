// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.runtime.call.Answer.Abandoned;

/**
 * A call that was made, and that its caller watches without waiting for it. Used by the one thread
 * that watches; {@link #begin} by any.
 *
 * @param <T> what the driver returns
 */
public final class PendingCall<T> {
  private final GuardedCall<T> call;
  private final Supervisor supervisor;
  private final Answer<T> refusal;

  PendingCall(GuardedCall<T> call, Supervisor supervisor) {
    this.call = call;
    this.supervisor = supervisor;
    this.refusal = null;
  }

  PendingCall(Answer<T> refusal) {
    this.call = null;
    this.supervisor = null;
    this.refusal = refusal;
  }

  /** Returns why the driver was not called; null if it was. */
  public Answer<T> refusal() {
    return refusal;
  }

  /**
   * Begins to count against the limit: what the call waited for is there.
   *
   * @param now the time by the clock of the supervisor
   */
  public void begin(long now) {
    call.begin(now);
  }

  /**
   * Gives the call up if it has reached its limit, or does not stop when asked to.
   *
   * @return the answer of a call that is given up; null while the driver may answer, or has
   */
  public Answer<T> look() {
    if (call.look() instanceof Abandoned<T> abandoned) {
      supervisor.abandoned(call, abandoned.why());
      return abandoned;
    }
    return null;
  }
}
