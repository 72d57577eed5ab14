// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.hal.Device;
import io.thalamus.tck.check.Parallel;
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
import java.util.stream.LongStream;

/**
 * Runs many random graphs on a device. Immutable. Its threads end with the run.
 *
 * @param device under test
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
    GraphGenerator generator = GraphGenerator.over(device);
    GraphCheck check = new GraphCheck(device);
    List<Long> seeds = LongStream.range(seed, seed + count).boxed().toList();
    return new GraphReport(
        Parallel.map(threads, seeds, one -> run(one, generator.graph(one), check)));
  }

  private static GraphReport.Result run(long seed, Example graph, GraphCheck check) {
    Outcome first = check.run(graph);
    if (!(first instanceof Outcome.Failed failed)) {
      return new GraphReport.Result(seed, graph, first, graph);
    }
    Example smallest = new GraphShrinker(check::run).shrink(graph);
    Outcome outcome =
        check.run(smallest) instanceof Outcome.Failed again
            ? again
            : new Outcome.Failed(failed.reason() + " (not every time)");
    return new GraphReport.Result(seed, graph, outcome, smallest);
  }

  /**
   * Writes the smallest graphs of failures as vector files.
   *
   * @return the files
   * @throws IOException where a file cannot be written
   */
  public static List<Path> write(List<GraphReport.Result> failures, Path folder)
      throws IOException {
    Files.createDirectories(folder);
    List<Path> files = new ArrayList<>();
    for (GraphReport.Result failure : failures) {
      Path file = folder.resolve(failure.smallest().name() + ".json");
      new VectorFile(
              failure.smallest().name(), "generated", Optional.empty(), List.of(failure.smallest()))
          .write(file);
      files.add(file);
    }
    return files;
  }
}
