// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import io.thalamus.api.Answer;
import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * A measurement of one burst, at a steady rate or as fast as it goes. Used by one thread.
 *
 * <p>At a rate, the latency of an execution counts from the moment at which it was due: one that
 * has to wait because those before it were slow is slow itself, as it is for whoever asked.
 */
public record BurstRun(
    NeuralNetworks networks, Model model, List<Tensor> inputs, CompilationOptions options) {
  private static final double NANOS = 1e9;
  private static final int DIGITS = 3;
  private static final long LONGEST_NANOS = 3_600_000_000_000L;
  private static final long SHOW_NANOS = 250_000_000;

  /** Code is compiled in the first seconds, which would be a picture of their own. */
  private static final long WARM_UP_NANOS = 3_000_000_000L;

  /** Threads sleep too long by about as much: what is left is waited for without sleep. */
  private static final long OVERSLEPT_NANOS = 100_000;

  /**
   * The measured values. Immutable as long as nobody changes the histogram.
   *
   * @param device those that executed
   * @param rate the wanted executions in a second; empty for as many as possible
   * @param latency in nanoseconds, one value for each execution
   * @param seconds that the executions took
   * @param burst as it was at the end
   */
  public record Figures(
      String device, OptionalDouble rate, Histogram latency, double seconds, BurstInfo burst) {
    /** Returns executions in a second. */
    public double throughput() {
      return latency.getTotalCount() / seconds;
    }
  }

  /**
   * Compiles, opens a burst, executes for a while, and then measures until the time is over or the
   * thread is interrupted.
   *
   * @param rate executions in a second; empty for as many as possible
   * @param live is shown, some times in a second, what was measured until then
   * @throws CommandException where an execution fails
   */
  public Figures run(OptionalDouble rate, Duration time, Consumer<Figures> live)
      throws NeuralNetworksException {
    try (Compilation compilation = networks.compile(model, options);
        Burst burst = compilation.createBurst()) {
      TimedInference inference =
          new TimedInference(compilation, inputs, execution -> execution.burstCompute(burst));
      Answer answer = warmUp(inference);
      Histogram latency = new Histogram(LONGEST_NANOS, DIGITS);
      double period = rate.isPresent() ? NANOS / rate.getAsDouble() : 0;
      long start = System.nanoTime();
      long shown = start;
      long now = start;
      while (now - start < time.toNanos() && !Thread.currentThread().isInterrupted()) {
        long due = rate.isPresent() ? start + (long) (latency.getTotalCount() * period) : now;
        await(due);
        answer = inference.run(1).answer();
        now = System.nanoTime();
        latency.recordValue(Math.clamp(now - due, 0, LONGEST_NANOS));
        if (now - shown >= SHOW_NANOS) {
          shown = now;
          live.accept(figures(answer, rate, latency, now - start, burst));
        }
      }
      return figures(answer, rate, latency, System.nanoTime() - start, burst);
    }
  }

  private static Answer warmUp(TimedInference inference) throws NeuralNetworksException {
    long start = System.nanoTime();
    Answer answer;
    do {
      answer = inference.run(1).answer();
    } while (System.nanoTime() - start < WARM_UP_NANOS && !Thread.currentThread().isInterrupted());
    return answer;
  }

  private static void await(long due) {
    for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      if (left > OVERSLEPT_NANOS) {
        LockSupport.parkNanos(left - OVERSLEPT_NANOS);
      } else {
        Thread.onSpinWait();
      }
    }
  }

  private static Figures figures(
      Answer answer, OptionalDouble rate, Histogram latency, long nanos, Burst burst) {
    String devices = String.join("+", answer.devices());
    return new Figures(devices, rate, latency, nanos / NANOS, burst.describe());
  }
}
