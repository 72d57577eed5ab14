// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport.CopiedBytes;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/**
 * A measurement of executions of a model, contenders by turns so that all meet the same load. Used
 * by one thread; its own threads end with each measurement.
 *
 * @param threads that execute at once
 */
public record Bench(
    NeuralNetworks networks,
    CompilationCache cache,
    Model model,
    List<Tensor> inputs,
    int threads) {
  private static final int ROUNDS = 6;
  private static final double WARM_UP_SHARE = 0.25;

  /** A shorter measurement is not worth the time of a whole warm-up. */
  private static final long SHORT_NANOS = 1_000_000_000;

  /**
   * The times of one contender. Immutable.
   *
   * @param device the device named, else those that executed
   * @param policy the one asked for; empty for none
   * @param nanos of each execution, sorted
   * @param seconds that the measured rounds took
   * @param isCold whether the warm-up was too short for warm executions
   * @param coldNanos of the first compilation
   * @param warmNanos of the second
   * @param copied by the last execution
   * @param caching where the second one's steps came from; empty where no caching was asked for
   */
  public record Figures(
      String device,
      Optional<String> policy,
      long[] nanos,
      double seconds,
      boolean isCold,
      long coldNanos,
      long warmNanos,
      CopiedBytes copied,
      List<CacheOutcome> caching) {
    /** Returns its name beside others. */
    public String name() {
      return policy.map(chosen -> device + " by " + chosen).orElse(device);
    }

    /** Returns the time that this share of executions did not exceed. */
    public long quantile(double share) {
      return nanos[(int) Math.min(nanos.length - 1L, Math.round(share * (nanos.length - 1)))];
    }

    /** Returns executions in a second. */
    public double throughput() {
      return nanos.length / seconds;
    }
  }

  /**
   * Compiles, warms up and measures.
   *
   * @param time for each contender
   * @throws CommandException where an execution fails
   */
  public List<Figures> run(
      List<CompilationOptions> contenders, Duration time, Consumer<String> progress)
      throws NeuralNetworksException, InterruptedException {
    List<Contender> all = new ArrayList<>();
    ExecutorService executor =
        Executors.newFixedThreadPool(
            threads, Thread.ofPlatform().name("nn-bench-", 1).daemon().factory());
    try {
      for (CompilationOptions options : contenders) {
        progress.accept("compiling");
        all.add(new Contender(options));
      }
      long warmUp =
          time.toNanos() < SHORT_NANOS ? (long) (time.toNanos() * WARM_UP_SHARE) : Warmth.NANOS;
      for (Contender contender : all) {
        progress.accept("warming up");
        contender.round(executor, warmUp, Warmth.EXECUTIONS);
        contender.warmedUp();
      }
      for (int round = 0; round < ROUNDS; round++) {
        progress.accept("measuring, round " + (round + 1) + " of " + ROUNDS);
        for (Contender contender : all) {
          contender.round(executor, time.toNanos() / ROUNDS, Integer.MAX_VALUE);
        }
      }
      return all.stream().map(Contender::figures).toList();
    } finally {
      executor.shutdownNow();
      executor.close();
      all.forEach(Contender::close);
    }
  }

  /** One way to compile the model. */
  private final class Contender {
    private final CompilationOptions options;
    private final Compilation compilation;
    private final long coldNanos;
    private final long warmNanos;
    private final List<CacheOutcome> caching;
    private final List<long[]> nanos = new ArrayList<>();
    private long spent;
    private boolean isCold;
    private String ranOn = "";
    private CopiedBytes copied = CopiedBytes.NONE;

    Contender(CompilationOptions options) throws NeuralNetworksException {
      this.options = options;
      if (options.caching().isPresent()) {
        // What an earlier run has stored would make the first compilation warm.
        cache.forget(model, options);
      }
      long start = System.nanoTime();
      Compilation first = networks.compile(model, options);
      coldNanos = System.nanoTime() - start;
      first.close();
      start = System.nanoTime();
      compilation = networks.compile(model, options);
      warmNanos = System.nanoTime() - start;
      caching = options.caching().isPresent() ? compilation.caching() : List.of();
    }

    void round(ExecutorService executor, long nanosToRun, int most) throws InterruptedException {
      long start = System.nanoTime();
      List<Future<long[]>> running = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        running.add(executor.submit(() -> loop(start + nanosToRun, most)));
      }
      try {
        for (Future<long[]> future : running) {
          nanos.add(future.get());
        }
      } catch (ExecutionException e) {
        if (e.getCause() instanceof CommandException failure) {
          throw failure;
        }
        throw new IllegalStateException(e.getCause());
      } finally {
        running.forEach(future -> future.cancel(true));
      }
      spent += System.nanoTime() - start;
    }

    private long[] loop(long end, int most) {
      TimedInference inference = new TimedInference(compilation, inputs, Execution::compute);
      long[] times = new long[64];
      int count = 0;
      TimedInference.Outcome last;
      do {
        last = inference.run(1);
        if (count == times.length) {
          times = Arrays.copyOf(times, 2 * count);
        }
        times[count++] = last.nanos()[0];
      } while (System.nanoTime() - end < 0
          && count < most
          && !Thread.currentThread().isInterrupted());
      String devices = String.join("+", last.answer().devices());
      synchronized (this) {
        ranOn = devices;
        copied = last.answer().report().copied();
      }
      return Arrays.copyOf(times, count);
    }

    /** Forgets the times, which were those of a warm-up. */
    void warmedUp() {
      long executions = nanos.stream().mapToLong(times -> times.length).sum();
      isCold = !Warmth.isWarm(spent, Math.toIntExact(executions));
      nanos.clear();
      spent = 0;
    }

    Figures figures() {
      long[] sorted = nanos.stream().flatMapToLong(Arrays::stream).sorted().toArray();
      String device = options.devices().isEmpty() ? ranOn : String.join("+", options.devices());
      return new Figures(
          device,
          options.policy(),
          sorted,
          spent / 1e9,
          isCold,
          coldNanos,
          warmNanos,
          copied,
          caching);
    }

    void close() {
      compilation.close();
    }
  }
}
