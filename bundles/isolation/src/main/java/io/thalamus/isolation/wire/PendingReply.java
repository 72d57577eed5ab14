// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.wire.Decoder;
import java.util.concurrent.locks.LockSupport;

/** The answer to a call, once it is there. The thread that made the call waits for it. */
public final class PendingReply {
  private final Thread caller = Thread.currentThread();
  private volatile byte[] body;
  private volatile DeviceException failure;

  PendingReply() {}

  void complete(byte[] reply) {
    body = reply;
    LockSupport.unpark(caller);
  }

  void fail(DeviceException reason) {
    failure = reason;
    LockSupport.unpark(caller);
  }

  private boolean isDone() {
    return body != null || failure != null;
  }

  /**
   * Waits for the answer. An interrupt does not end the wait, and is kept for the caller.
   *
   * @return whether it is there
   */
  public boolean await(long nanos) {
    long start = System.nanoTime();
    boolean isInterrupted = false;
    while (!isDone()) {
      long left = nanos - (System.nanoTime() - start);
      if (left <= 0) {
        break;
      }
      LockSupport.parkNanos(this, left);
      isInterrupted |= Thread.interrupted();
    }
    if (isInterrupted) {
      caller.interrupt();
    }
    return isDone();
  }

  /**
   * Returns the body of the answer, which is there.
   *
   * @throws DeviceException where the other end refused the call, or is gone
   */
  public Decoder get() throws DeviceException {
    DeviceException reason = failure;
    if (reason != null) {
      // A new one: this thread's stack says more than that of the thread that read the answer.
      throw new DeviceException(
          reason.status(), reason.getMessage(), reason.retryAfter(), reason.getCause());
    }
    return new Decoder(body);
  }
}
