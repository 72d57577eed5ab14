// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.PreparedModel;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Executions at the same time: each gives what it gives alone. */
final class ConcurrencyChecks {
  private static final int THREADS = 4;
  private static final int ROUNDS = 25;
  private static final int EXAMPLES = 8;

  private ConcurrencyChecks() {}

  /** Some examples, spread over all. */
  static List<Example> some(Subject subject) {
    List<Example> all = subject.singles();
    int step = Math.max(1, all.size() / EXAMPLES);
    List<Example> some = new ArrayList<>();
    for (int i = 0; i < all.size(); i += step) {
      some.add(all.get(i));
    }
    return some;
  }

  /** Many executions of a prepared model at once give what one alone gives. */
  static void run(Subject subject, Findings findings) throws InterruptedException {
    for (Example example : some(subject)) {
      findings.attempt(
          example.name(),
          () ->
              Probes.with(
                  subject.device(), example, (prepared, decoded) -> together(prepared, decoded)));
    }
  }

  private static Optional<String> together(PreparedModel prepared, DecodedExample decoded)
      throws InterruptedException, ExecutionException {
    byte[] expected = Probes.outputs(prepared, decoded);
    return together(expected, () -> Probes.outputs(prepared, decoded));
  }

  /** A fault unless all of many executions at once give what is expected. */
  static Optional<String> together(byte[] expected, Callable<byte[]> execution)
      throws InterruptedException, ExecutionException {
    List<Future<Boolean>> running = new ArrayList<>();
    try (ExecutorService executor =
        Executors.newFixedThreadPool(
            THREADS, Thread.ofPlatform().name("certify-", 1).daemon().factory())) {
      for (int i = 0; i < THREADS * ROUNDS; i++) {
        running.add(executor.submit(() -> Arrays.equals(expected, execution.call())));
      }
    }
    for (Future<Boolean> one : running) {
      if (!one.get()) {
        return Optional.of("results differ between executions at the same time");
      }
    }
    return Optional.empty();
  }
}
