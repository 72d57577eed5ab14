// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import io.thalamus.api.Answer;
import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Inference;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.console.text.Units;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** An inference whose executions are timed, without what comes before and after. One thread's. */
public final class TimedInference {
  private static final int FIRST_TIMES = 1024;

  private final Inference inference;
  private final List<Tensor> inputs;
  private long nanos;

  /**
   * The last answer, and all times.
   *
   * @param nanos how long each execution took, in their order
   */
  public record Outcome(Answer answer, long[] nanos) {}

  /**
   * An inference with these inputs.
   *
   * @param way starts an execution and waits for its end
   */
  public TimedInference(
      Compilation compilation, List<Tensor> inputs, Function<Execution, ExecutionReport> way) {
    this.inputs = inputs;
    this.inference =
        new Inference(
            compilation,
            execution -> {
              long start = System.nanoTime();
              ExecutionReport report = way.apply(execution);
              nanos = System.nanoTime() - start;
              return report;
            });
  }

  /**
   * Executes a number of times.
   *
   * @throws CommandException where one execution fails, or Ctrl-C comes between two
   */
  public Outcome run(int times) {
    // A load that Ctrl-C ends may have a number of times that no memory holds.
    long[] all = new long[Math.min(times, FIRST_TIMES)];
    Answer last = null;
    for (int i = 0; i < times; i++) {
      if (i > 0 && Thread.currentThread().isInterrupted()) {
        throw new CommandException("interrupted");
      }
      if (i == all.length) {
        all = Arrays.copyOf(all, (int) Math.min(times, 2L * i));
      }
      try {
        last = inference.run(inputs);
      } catch (NeuralNetworksException e) {
        String later = e.retryAfter().map(time -> "; try again in " + Units.time(time)).orElse("");
        throw new CommandException(e.code() + ": " + e.getMessage() + later, e);
      }
      all[i] = nanos;
    }
    return new Outcome(last, all);
  }
}
