// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Parallel;
import io.thalamus.tck.check.Probes;
import io.thalamus.vectors.Example;
import java.util.Collections;
import java.util.concurrent.Callable;

/** Executions at the same time: each gives what it gives alone. */
final class ConcurrencyChecks {
  private static final int THREADS = 4;
  private static final int ROUNDS = 25;

  private ConcurrencyChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    for (Example example : subject.some()) {
      findings.prepared(
          example.name(),
          example,
          (prepared, decoded) ->
              together(Probes.outputs(prepared, decoded), () -> Probes.outputs(prepared, decoded)));
    }
  }

  /** Expects that each of many executions at once gives what is expected. */
  static void together(byte[] expected, Callable<byte[]> execution) throws Exception {
    together(
        () ->
            Expect.equal(
                expected, execution.call(), "results differ between executions at the same time"));
  }

  /** Runs a part of a check many times at once. */
  static void together(Check.Body part) throws Exception {
    Parallel.map(
        THREADS,
        Collections.nCopies(THREADS * ROUNDS, part),
        one -> {
          one.run();
          return one;
        });
  }
}
