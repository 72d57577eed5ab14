// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.hal.Device;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.VectorFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs many random graphs on a device. Immutable. Its threads end with the run.
 *
 * @param device who is tested
 * @param threads how many graphs are run at the same time
 */
public record GraphSuite(Device device, int threads) {
  public GraphSuite {
    Objects.requireNonNull(device, "device");
    if (threads < 1) {
      throw new IllegalArgumentException("threads must be at least 1, not " + threads);
    }
  }

  /** In as many threads as there are processors. */
  public static GraphSuite of(Device device) {
    return new GraphSuite(device, Runtime.getRuntime().availableProcessors());
  }

  /**
   * Runs the graphs of the seeds from {@code seed} on, over what the device supports.
   *
   * @throws InterruptedException where the calling thread was interrupted
   */
  public GraphReport run(int count, long seed) throws InterruptedException {
    GraphReport report = new GraphReport();
    GraphGenerator generator = GraphGenerator.over(device);
    GraphCheck check = new GraphCheck(device);
    try (ExecutorService executor =
        Executors.newFixedThreadPool(
            threads, Thread.ofPlatform().name("graphs-", 1).daemon().factory())) {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        long one = seed + i;
        running.add(executor.submit(() -> run(generator.graph(one), one, check, report)));
      }
      for (Future<?> one : running) {
        one.get();
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("a graph could not be run", e.getCause());
    }
    return report;
  }

  private static void run(Example graph, long seed, GraphCheck check, GraphReport report) {
    switch (check.run(graph)) {
      case Outcome.Passed _ -> {
        long elements = 0;
        long narrow = 0;
        List<Tensor> values = new Evaluator().evaluate(graph);
        for (Example.ExpectedOutput output : graph.expectedOutputs()) {
          elements += values.get(output.operand()).size();
          narrow += BoundTightness.narrow(values.get(output.operand()));
        }
        report.addPassed(seed, graph, elements, narrow);
      }
      case Outcome.Skipped skipped -> report.addSkipped(seed, skipped.reason());
      case Outcome.Failed failed -> {
        Example smallest = new GraphShrinker(check::run).shrink(graph);
        String reason =
            check.run(smallest) instanceof Outcome.Failed again
                ? again.reason()
                : failed.reason() + " (not every time)";
        report.addFailure(new GraphReport.Failure(seed, failed.reason(), smallest, reason));
      }
    }
  }

  /**
   * Writes the smallest graphs of failures as vector files.
   *
   * @return the files
   * @throws IOException where a file cannot be written
   */
  public static List<Path> write(List<GraphReport.Failure> failures, Path folder)
      throws IOException {
    Files.createDirectories(folder);
    List<Path> files = new ArrayList<>();
    for (GraphReport.Failure failure : failures) {
      Path file = folder.resolve(failure.smallest().name() + ".json");
      new VectorFile(
              failure.smallest().name(), "generated", Optional.empty(), List.of(failure.smallest()))
          .write(file);
      files.add(file);
    }
    return files;
  }
}
