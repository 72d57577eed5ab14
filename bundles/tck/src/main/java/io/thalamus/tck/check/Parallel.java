// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Runs many pieces of work in threads of its own, which end with them. */
public final class Parallel {
  private Parallel() {}

  /** A piece of work. */
  @FunctionalInterface
  public interface Work<T, R, E extends Exception> {
    /** Does it. */
    R apply(T item) throws E;
  }

  /**
   * Applies the same work to all items.
   *
   * @return the results in the order of the items
   * @throws E what the first item threw of those whose work failed
   */
  @SuppressWarnings("unchecked") // work throws nothing else
  public static <T, R, E extends Exception> List<R> map(
      int threads, List<T> items, Work<T, R, E> work) throws E, InterruptedException {
    List<Future<R>> running = new ArrayList<>();
    try (ExecutorService executor =
        Executors.newFixedThreadPool(
            threads, Thread.ofPlatform().name("certify-", 1).daemon().factory())) {
      items.forEach(item -> running.add(executor.submit(() -> work.apply(item))));
    }
    List<R> results = new ArrayList<>();
    for (Future<R> one : running) {
      try {
        results.add(one.get());
      } catch (ExecutionException e) {
        switch (e.getCause()) {
          case RuntimeException cause -> throw cause;
          case Error cause -> throw cause;
          default -> throw (E) e.getCause();
        }
      }
    }
    return results;
  }
}
