// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class OwnedClientTest {
  private static final int WARM_UP = 100_000;

  /** A channel whose end can be held up. */
  private static final class Slow implements BurstClient {
    private final CountDownLatch begun = new CountDownLatch(1);
    private volatile CountDownLatch gate = new CountDownLatch(0);

    @Override
    public void close() {
      try {
        if (gate.getCount() > 0) {
          begun.countDown();
          gate.await();
        }
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public boolean send(Request request, ExecutionConfig config) {
      return false;
    }

    @Override
    public ExecutionResult receive(long timeoutNanos) {
      return null;
    }

    @Override
    public void cancel() {
      // Nothing is under way.
    }

    @Override
    public long checkpoints() {
      return 0;
    }

    @Override
    public int underWay() {
      return 0;
    }

    @Override
    public void freeMemory(SharedMemory memory) {
      // None is held.
    }

    @Override
    public boolean isServedByDriver() {
      return false;
    }

    @Override
    public boolean isBroken() {
      return false;
    }

    @Override
    public BurstStatistics statistics() {
      return new BurstStatistics(0, 0, 0);
    }
  }

  /** Compiled code keeps nothing alive that it does not use any more. */
  @Test
  @Timeout(60)
  void aClientThatIsBeingClosedIsNotForgotten() throws Exception {
    Slow slow = new Slow();
    for (int i = 0; i < WARM_UP; i++) {
      new OwnedClient(slow).close();
    }
    slow.gate = new CountDownLatch(1);
    AtomicReference<OwnedClient> client = new AtomicReference<>(new OwnedClient(slow));
    WeakReference<OwnedClient> reference = new WeakReference<>(client.get());
    Thread closing = Thread.ofPlatform().start(() -> client.getAndSet(null).close());
    assertTrue(slow.begun.await(20, TimeUnit.SECONDS));
    for (int i = 0; i < 5; i++) {
      System.gc();
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
    }
    assertFalse(reference.refersTo(null), "a client that is being closed is garbage");
    slow.gate.countDown();
    closing.join();
  }
}
