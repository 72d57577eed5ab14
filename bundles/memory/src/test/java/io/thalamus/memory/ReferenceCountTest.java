// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** {@link ReferenceCount}: a resource is freed once, after its closing and its last use. */
class ReferenceCountTest {
  private static final int ROUNDS = 20_000;

  private final AtomicInteger freed = new AtomicInteger();
  private final ReferenceCount count = new ReferenceCount(freed::incrementAndGet);

  @Test
  void anUnusedResourceIsFreedWhenItIsClosed() {
    assertTrue(count.close());
    assertEquals(1, freed.get());
    assertFalse(count.close(), "closed before");
    assertEquals(1, freed.get());
  }

  @Test
  void aUsedResourceIsFreedWithItsLastUse() {
    assertTrue(count.retain());
    assertTrue(count.retain());
    assertTrue(count.close());
    assertTrue(count.isClosed());
    assertEquals(2, count.uses());
    count.release();
    assertEquals(0, freed.get());
    count.release();
    assertEquals(1, freed.get());
    assertEquals(0, count.uses());
    assertEquals(2, count.begun());
  }

  @Test
  void anOpenResourceSurvivesTheEndOfAllUses() {
    assertTrue(count.retain());
    count.release();
    assertEquals(0, freed.get());
    assertTrue(count.retain());
  }

  @Test
  void aClosedResourceIsOnlyRetainedByChoiceAndWhileItIsUsed() {
    assertTrue(count.retain());
    count.close();
    assertFalse(count.retain());
    assertTrue(count.retainUnlessFreed());
    count.release();
    count.release();
    assertFalse(count.retainUnlessFreed());
    assertEquals(1, freed.get());
  }

  @Test
  void aReleaseWithoutAUseIsAnError() {
    assertThrows(IllegalStateException.class, count::release);
    count.retain();
    count.release();
    assertThrows(IllegalStateException.class, count::release);
    count.close();
    assertThrows(IllegalStateException.class, count::release);
    assertEquals(1, freed.get());
  }

  /** Two users and an owner meet: no use sees a freed resource, and it is freed once. */
  @Test
  void racingUsersNeverSeeAFreedResource() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      AtomicInteger seen = new AtomicInteger();
      Race[] rounds = new Race[ROUNDS];
      for (int i = 0; i < ROUNDS; i++) {
        rounds[i] = new Race();
      }
      CyclicBarrier start = new CyclicBarrier(3);
      List<Future<?>> ends = new ArrayList<>();
      for (int user = 0; user < 2; user++) {
        boolean alsoClosed = user == 0;
        ends.add(
            threads.submit(
                () -> {
                  start.await(30, TimeUnit.SECONDS);
                  for (Race race : rounds) {
                    seen.addAndGet(race.use(alsoClosed));
                  }
                  return null;
                }));
      }
      ends.add(
          threads.submit(
              () -> {
                start.await(30, TimeUnit.SECONDS);
                for (Race race : rounds) {
                  race.count.close();
                }
                return null;
              }));
      for (Future<?> end : ends) {
        end.get(60, TimeUnit.SECONDS);
      }
      assertEquals(0, seen.get(), "uses of a freed resource");
      for (Race race : rounds) {
        assertEquals(1, race.freed.get());
      }
    }
  }

  private static final class Race {
    private final AtomicInteger freed = new AtomicInteger();
    private final ReferenceCount count = new ReferenceCount(freed::incrementAndGet);

    /** Returns 1 if the resource was freed during the use. */
    int use(boolean alsoClosed) {
      if (!(alsoClosed ? count.retainUnlessFreed() : count.retain())) {
        return 0;
      }
      int wasFreed = freed.get();
      count.release();
      return wasFreed;
    }
  }
}
