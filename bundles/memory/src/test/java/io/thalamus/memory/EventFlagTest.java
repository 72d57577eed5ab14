// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** All ways to sleep keep the same promises. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventFlagTest {
  /** So long that a test that needs it fails by its own timeout. */
  private static final long NEVER = TimeUnit.HOURS.toNanos(1);

  private static final boolean IS_LINUX = System.getProperty("os.name").equals("Linux");

  static List<Sleep> ways() {
    Polling polling = new Polling("a test wants it");
    return Sleep.best() instanceof Polling ? List.of(polling) : List.of(Sleep.best(), polling);
  }

  private static EventFlag flag(SharedMemory memory, Sleep sleep) {
    return new EventFlag(memory, 4, sleep, NEVER);
  }

  private static SharedMemory memory() {
    return SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  }

  @Test
  void linuxHasTheFutex() {
    assumeTrue(IS_LINUX);
    assertInstanceOf(Futex.class, Sleep.best());
    assertEquals("futex", EventFlag.implementation());
  }

  @ParameterizedTest
  @MethodSource("ways")
  void eventsAreTakenOnce(Sleep sleep) {
    try (SharedMemory memory = memory()) {
      EventFlag flag = flag(memory, sleep);
      flag.wake(5);
      flag.wake(2);
      assertEquals(1, flag.await(1, NEVER));
      assertEquals(0, flag.await(1, 0));
      assertEquals(6, flag.await(7, NEVER));
      assertEquals(0, flag.await(7, 0));
      flag.wake(1 << 30);
      assertEquals(1 << 30, flag.await(Integer.MAX_VALUE, NEVER));
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void theTimeoutEndsAWait(Sleep sleep) {
    try (SharedMemory memory = memory()) {
      EventFlag flag = flag(memory, sleep);
      flag.wake(2);
      long start = System.nanoTime();
      assertEquals(0, flag.await(1, 3_000_000));
      assertTrue(System.nanoTime() - start >= 3_000_000);
      assertEquals(2, flag.await(2, NEVER), "the events of others stay");
    }
  }

  /** A thread waits for each event; each is woken by its own, in whatever order they sleep. */
  @ParameterizedTest
  @MethodSource("ways")
  void everyThreadIsWokenByItsEvent(Sleep sleep) throws Exception {
    int rounds = 300;
    int threads = 3;
    try (SharedMemory memory = memory()) {
      EventFlag flag = flag(memory, sleep);
      EventFlag answers = new EventFlag(memory, 8, sleep, NEVER);
      AtomicInteger taken = new AtomicInteger();
      List<CompletableFuture<Void>> ends =
          IntStream.range(0, threads)
              .mapToObj(
                  i ->
                      run(
                          () -> {
                            for (int round = 0; round < rounds; round++) {
                              assertEquals(1 << i, flag.await(1 << i, NEVER));
                              taken.incrementAndGet();
                              answers.wake(1 << i);
                            }
                          }))
              .toList();
      for (int round = 0; round < rounds; round++) {
        for (int i = threads - 1; i >= 0; i--) {
          flag.wake(1 << i);
          assertEquals(1 << i, answers.await(1 << i, NEVER));
        }
      }
      for (CompletableFuture<Void> end : ends) {
        end.get();
      }
      assertEquals(rounds * threads, taken.get());
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void anInterruptDoesNotEndAWaitAndStaysSet(Sleep sleep) throws Exception {
    try (SharedMemory memory = memory()) {
      EventFlag flag = flag(memory, sleep);
      AtomicReference<Boolean> isInterrupted = new AtomicReference<>();
      AtomicInteger taken = new AtomicInteger(-1);
      Thread thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    taken.set(flag.await(1, NEVER));
                    isInterrupted.set(Thread.currentThread().isInterrupted());
                  });
      awaitSleeper(memory);
      thread.interrupt();
      Thread.sleep(20);
      assertTrue(thread.isAlive());
      flag.wake(1);
      thread.join();
      assertEquals(1, taken.get());
      assertEquals(true, isInterrupted.get());
    }
  }

  @ParameterizedTest
  @MethodSource("ways")
  void closedMemoryStaysMappedUnderAWait(Sleep sleep) throws Exception {
    SharedMemory memory = memory();
    SharedMemory second = SharedMemory.map(memory.describe());
    EventFlag flag = flag(memory, sleep);
    CompletableFuture<Void> end = run(() -> assertEquals(1, flag.await(1, NEVER)));
    awaitSleeper(memory);
    memory.close();
    flag(second, sleep).wake(1);
    end.get();
    assertThrows(IllegalStateException.class, () -> flag.await(1, 0));
    assertThrows(IllegalStateException.class, () -> flag.wake(1));
    second.close();
  }

  /** Waits until the sign bit says that somebody may sleep. */
  private static void awaitSleeper(SharedMemory memory) throws InterruptedException {
    while (memory.segment().get(ValueLayout.JAVA_INT, 4) >= 0) {
      Thread.sleep(1);
    }
    Thread.sleep(5);
  }

  /** A word that a foreign process fills with anything costs time at most. */
  @ParameterizedTest
  @MethodSource("ways")
  void anyWordIsServed(Sleep sleep) {
    try (SharedMemory memory = memory()) {
      EventFlag flag = flag(memory, sleep);
      memory.segment().set(ValueLayout.JAVA_INT, 4, -1);
      assertEquals(8, flag.await(8, NEVER));
      assertEquals(0, flag.await(8, 1_000_000));
      memory.segment().set(ValueLayout.JAVA_INT, 4, Integer.MIN_VALUE);
      assertEquals(0, flag.await(8, 1_000_000));
      flag.wake(8);
      assertEquals(8, flag.await(8, NEVER));
    }
  }

  /** Also where one of the two has no right to native calls, and so polls. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void processesWakeEachOther(boolean isNative) throws Exception {
    int rounds = isNative ? 2_000 : 50;
    try (SharedMemory memory = memory()) {
      Process child =
          JavaProcess.of(
                  JavaProcess.nativeAccess(isNative), Echo.class, memory.describe().file(), rounds)
              .redirectErrorStream(true)
              .start();
      EventFlag there = new EventFlag(memory, 0);
      EventFlag back = new EventFlag(memory, 4);
      for (int i = 1; i <= rounds; i++) {
        memory.segment().set(ValueLayout.JAVA_INT, 8, i);
        there.wake(1);
        assertEquals(1, back.await(1, TimeUnit.SECONDS.toNanos(60)));
        assertEquals(2 * i, memory.segment().get(ValueLayout.JAVA_INT, 8));
      }
      String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(child.waitFor(60, TimeUnit.SECONDS));
      // All that it prints: no warning of the virtual machine either.
      String way = isNative && IS_LINUX ? "futex" : "polling: ";
      assertTrue(output.startsWith(way) && output.lines().count() == 1, output);
      assertFalse(output.contains("WARNING"), output);
    }
  }

  /** The other process: doubles an int at each event. */
  static final class Echo {
    public static void main(String[] args) {
      SharedMemoryHandle handle =
          new SharedMemoryHandle(MemoryKind.ASHMEM, Path.of(args[0]), 0, 64, true);
      try (SharedMemory memory = SharedMemory.map(handle)) {
        EventFlag there = new EventFlag(memory, 0);
        EventFlag back = new EventFlag(memory, 4);
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
          if (there.await(1, TimeUnit.SECONDS.toNanos(60)) == 0) {
            throw new IllegalStateException("no event");
          }
          int value = memory.segment().get(ValueLayout.JAVA_INT, 8);
          memory.segment().set(ValueLayout.JAVA_INT, 8, 2 * value);
          back.wake(1);
        }
        System.out.println(EventFlag.implementation());
      }
    }
  }

  /**
   * A process that ends between its event and the system call leaves the sleepers to themselves.
   */
  @Test
  void aSleeperLooksAgainByItself() throws Exception {
    try (SharedMemory memory = memory()) {
      EventFlag flag = new EventFlag(memory, 4);
      CompletableFuture<Void> end = run(() -> assertEquals(1, flag.await(1, NEVER)));
      awaitSleeper(memory);
      memory.segment().set(ValueLayout.JAVA_INT, 4, 1);
      end.get();
    }
  }

  @Test
  void wordsThatCannotBeAreRefused() {
    try (SharedMemory memory = memory();
        SharedMemory same = SharedMemory.allocate(MemoryKind.ASHMEM, 3)) {
      assertThrows(IllegalArgumentException.class, () -> new EventFlag(memory, 2));
      assertThrows(IllegalArgumentException.class, () -> new EventFlag(memory, -4));
      assertThrows(IllegalArgumentException.class, () -> new EventFlag(memory, 64));
      assertThrows(IllegalArgumentException.class, () -> new EventFlag(same, 0));
      EventFlag flag = new EventFlag(memory, 60);
      assertThrows(IllegalArgumentException.class, () -> flag.wake(0));
      assertThrows(IllegalArgumentException.class, () -> flag.wake(-1));
      assertThrows(IllegalArgumentException.class, () -> flag.await(Integer.MIN_VALUE, 0));
    }
  }

  private static CompletableFuture<Void> run(Runnable task) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Thread.ofPlatform()
        .daemon()
        .uncaughtExceptionHandler((_, e) -> end.completeExceptionally(e))
        .start(
            () -> {
              task.run();
              end.complete(null);
            });
    return end;
  }
}
