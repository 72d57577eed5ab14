// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.tiles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

/** A job whose caller stands back takes its tiles with it. */
class JobTest {
  private static final int TILES = 200;

  private final AtomicIntegerArray runs = new AtomicIntegerArray(TILES);
  private final AtomicInteger begun = new AtomicInteger();
  private final CountDownLatch helped = new CountDownLatch(1);

  /**
   * A step whose caller does not get on before a helper has run a tile too. The helper takes its
   * time, so that tiles are left when the caller pauses.
   */
  private final class Slow implements Tiles {
    private final Thread caller = Thread.currentThread();

    @Override
    public void run(int participant, int tile) {
      begun.incrementAndGet();
      runs.incrementAndGet(tile);
      if (Thread.currentThread() != caller) {
        helped.countDown();
        sleep(5);
      } else {
        await(helped);
      }
    }
  }

  private static void sleep(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS), "no helper came");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Pauses once, and sees how many tiles are begun meanwhile. */
  private final class Pausing implements ExecutionControl {
    private final AtomicBoolean isWanted = new AtomicBoolean(true);
    private int atBegin;
    private int atEnd;

    @Override
    public Signal status() {
      return Signal.CONTINUE;
    }

    @Override
    public boolean isPauseWanted() {
      return isWanted.get();
    }

    @Override
    public Signal checkpoint() {
      if (isWanted.getAndSet(false)) {
        // Each helper may be in the tile that it had claimed before.
        sleep(100);
        atBegin = begun.get();
        sleep(300);
        atEnd = begun.get();
      }
      return Signal.CONTINUE;
    }
  }

  @Test
  void helpersTakeNoTilesWhileTheCallerIsPaused() {
    Pausing control = new Pausing();
    try (Workers workers = new Workers(2, "thalamus-test")) {
      Job job = new Job();
      int place = workers.register(job);
      job.open(new Slow(), TILES);
      workers.wake();
      assertNull(job.finish(ExecutionConfig.DEFAULT.with(control), workers));
      workers.unregister(place);
    }
    assertEquals(control.atBegin, control.atEnd, "tiles were begun while the caller was paused");
    assertTrue(control.atEnd < TILES, "nothing was left to be begun: the test shows nothing");
    for (int tile = 0; tile < TILES; tile++) {
      assertEquals(1, runs.get(tile), "tile " + tile);
    }
  }

  @Test
  void callersAndHelpersAreNoMoreThanTheThreads() {
    try (Workers workers = new Workers(3, "thalamus-test")) {
      Job job = new Job();
      List<Boolean> alone = List.of(true, true);
      List<Boolean> beside = List.of(true, false);
      int first = workers.register(job);
      while (!workers.mayHelp(2)) {
        sleep(1); // compilers have a processor for a moment
      }
      assertEquals(alone, helpers(workers));
      int second = workers.register(job);
      assertEquals(beside, helpers(workers));
      int third = workers.register(job);
      assertEquals(List.of(false, false), helpers(workers));
      workers.unregister(third);
      sleep(20); // its place is kept for a moment
      assertEquals(beside, helpers(workers));
      workers.pauseBegins();
      sleep(20);
      assertEquals(alone, helpers(workers), "who is paused computes nothing");
      workers.pauseEnds();
      assertEquals(beside, helpers(workers));
      workers.unregister(second);
      workers.unregister(first);
    }
  }

  /** A step of one tile with many parts. */
  private static final class Parts implements Tiles {
    private final Job job;
    private int passed;

    Parts(Job job) {
      this.job = job;
    }

    @Override
    public void run(int participant, int tile) {
      for (int part = 0; part < TILES && !job.isOver(participant); part++) {
        passed++;
      }
    }
  }

  @Test
  void aLongTileEndsAtTheCheckpointBetweenItsParts() {
    AtomicInteger asked = new AtomicInteger();
    ExecutionControl control =
        () -> asked.incrementAndGet() <= 3 ? Signal.CONTINUE : Signal.CANCELLED;
    try (Workers workers = new Workers(1, "thalamus-test")) {
      Job job = new Job();
      Parts parts = new Parts(job);
      Failed failed = job.runAlone(parts, ExecutionConfig.DEFAULT.with(control), workers);
      assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      assertEquals(3, parts.passed);
      Parts whole = new Parts(job);
      job.open(whole, 1);
      assertNull(job.finish(ExecutionConfig.DEFAULT, workers), "the next one begins anew");
      assertEquals(TILES, whole.passed);
    }
  }

  /** While helpers are awake and look for work. */
  @Test
  void aSingleTileIsTheCallers() {
    Thread caller = Thread.currentThread();
    AtomicInteger others = new AtomicInteger();
    Tiles single =
        (participant, tile) -> {
          if (participant != 0 || tile != 0 || Thread.currentThread() != caller) {
            others.incrementAndGet();
          }
          sleep(1);
        };
    try (Workers workers = new Workers(2, "thalamus-test")) {
      Job job = new Job();
      int place = workers.register(job);
      job.open(new Slow(), TILES);
      workers.wake();
      assertNull(job.finish(ExecutionConfig.DEFAULT, workers));
      for (int i = 0; i < 20; i++) {
        assertNull(job.runAlone(single, ExecutionConfig.DEFAULT, workers));
      }
      Tiles broken =
          (participant, tile) -> {
            throw new ArithmeticException("broken");
          };
      IllegalStateException thrown =
          assertThrows(
              IllegalStateException.class,
              () -> job.runAlone(broken, ExecutionConfig.DEFAULT, workers));
      assertTrue(thrown.getMessage().contains("broken"), thrown.getMessage());
      assertFalse(job.isOver(0), "no execution is under way");
      workers.unregister(place);
    }
    assertEquals(0, others.get());
  }

  private static List<Boolean> helpers(Workers workers) {
    return List.of(workers.mayHelp(1), workers.mayHelp(2));
  }

  /** As the warm-up runs tiles. */
  @Test
  void outsideOfAnExecutionNoTileIsOver() {
    assertFalse(new Job().isOver(0));
  }
}
