// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** {@link Variants}: which values stay, who makes them, and when they are closed. */
class VariantsTest {
  private static final long MIB = 1 << 20;

  private final List<Integer> made = new ArrayList<>();
  private final List<Integer> closed = new ArrayList<>();

  /** Values that are their keys, of as many MiB each; none for negative ones. */
  private final Variants<Integer, Integer, IOException> variants =
      new Variants<>(this::make, value -> value * MIB, this::close);

  private synchronized Integer make(Integer key) throws IOException {
    made.add(key);
    if (key < 0) {
      throw new IOException("no " + key);
    }
    return key;
  }

  private synchronized void close(Integer value) {
    closed.add(value);
  }

  private void use(int from, int to) throws IOException {
    for (int key = from; key <= to; key++) {
      try (Variants.Use<Integer> use = variants.use(key)) {
        assertEquals(key, use.value());
        assertTrue(variants.has(key));
      }
    }
  }

  @Test
  void smallValuesStay() throws Exception {
    use(1, 20);
    use(1, 20);
    assertEquals(IntStream.rangeClosed(1, 20).boxed().toList(), made);
    assertEquals(List.of(), closed);
    variants.close();
    assertEquals(made, closed);
  }

  /** 1 to 22 are 253 MiB; 23 lacks 20, which 2 to 6 hold to the byte; 1 was used lately. */
  @Test
  void whatWasNotUsedForTheLongestTimeMakesRoom() throws Exception {
    use(1, 22);
    use(1, 1);
    use(23, 23);
    assertEquals(List.of(2, 3, 4, 5, 6), closed);
    assertTrue(variants.has(1));
    assertFalse(variants.has(2));
  }

  @Test
  void eightStayHoweverLarge() throws Exception {
    use(1_000, 1_009);
    assertEquals(List.of(1_000, 1_001), closed);
    use(1_002, 1_009);
    assertEquals(10, made.size());
  }

  @Test
  void aUsedValueIsClosedWithItsLastUse() throws Exception {
    Variants.Use<Integer> first = variants.use(1_000);
    Variants.Use<Integer> second = variants.use(1_000);
    use(1_001, 1_008);
    assertFalse(variants.has(1_000));
    first.close();
    assertEquals(List.of(), closed);
    second.close();
    assertEquals(List.of(1_000), closed);
    Variants.Use<Integer> last = variants.use(1_008);
    variants.close();
    assertEquals(8, closed.size());
    assertThrows(IllegalStateException.class, () -> variants.use(1_008));
    last.close();
    assertEquals(9, closed.size());
  }

  @Test
  void aFailureIsForgotten() {
    for (int i = 0; i < 2; i++) {
      IOException e = assertThrows(IOException.class, () -> variants.use(-1));
      assertEquals("no -1", e.getMessage());
      assertFalse(variants.has(-1));
    }
    assertEquals(List.of(-1, -1), made);
    variants.close();
    assertEquals(List.of(), closed);
  }

  @Test
  void thoseWhoComeAtOnceGetOneResult() throws Exception {
    int users = 8;
    for (int key : new int[] {1, -1}) {
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch goOn = new CountDownLatch(1);
      Variants<Integer, Integer, IOException> slow =
          new Variants<>(
              each -> {
                begun.countDown();
                await(goOn);
                return make(each);
              },
              value -> 1,
              this::close);
      made.clear();
      List<Thread> waiting = new ArrayList<>();
      List<Future<Integer>> answers = new ArrayList<>();
      try (ExecutorService threads =
          Executors.newCachedThreadPool(
              task -> {
                Thread thread = new Thread(task);
                waiting.add(thread);
                return thread;
              })) {
        for (int i = 0; i < users; i++) {
          answers.add(threads.submit(() -> slow.use(key).value()));
        }
        begun.await();
        assertFalse(slow.has(key));
        while (!waiting.stream().allMatch(VariantsTest::isWaiting)) {
          Thread.sleep(1);
        }
        goOn.countDown();
        Throwable failure = null;
        for (Future<Integer> answer : answers) {
          if (key > 0) {
            assertEquals(key, answer.get());
          } else {
            Throwable e = assertThrows(ExecutionException.class, answer::get).getCause();
            failure = failure == null ? e : failure;
            assertSame(failure, e);
          }
        }
      }
      assertEquals(List.of(key), made);
    }
  }

  /**
   * Returns true if it has found the variant: it makes the value, or waits for the one that does.
   */
  private static boolean isWaiting(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getClassName().startsWith(Variants.class.getName() + "$Variant"));
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }
}
