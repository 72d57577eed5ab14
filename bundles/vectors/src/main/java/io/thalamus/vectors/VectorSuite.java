// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.stream.Stream;

/**
 * Runs all examples of a file, or of all files below a folder, in threads of its own that end with
 * the run. Thread-safe; immutable.
 *
 * @param root a file of the format, or a folder
 * @param filter which examples to run
 * @param threads how many run at the same time
 */
public record VectorSuite(Path root, VectorFilter filter, int threads) {
  /** Decoded examples that wait for a thread; more would only fill memory. */
  private static final int WAITING_PER_THREAD = 8;

  /**
   * The part of a file in which the format's name must stand for it to be recognised in a folder.
   */
  private static final int HEAD = 1024;

  public VectorSuite {
    Objects.requireNonNull(root, "root");
    Objects.requireNonNull(filter, "filter");
    if (threads < 1) {
      throw new IllegalArgumentException("threads must be at least 1, not " + threads);
    }
  }

  /** All examples, in as many threads as there are processors. */
  public static VectorSuite of(Path root) {
    return new VectorSuite(root, VectorFilter.ALL, Runtime.getRuntime().availableProcessors());
  }

  public VectorSuite with(VectorFilter value) {
    return new VectorSuite(root, value, threads);
  }

  public VectorSuite withThreads(int value) {
    return new VectorSuite(root, filter, value);
  }

  /**
   * Runs the examples. A damaged file, and whatever an example or the target does wrong, becomes a
   * failed result.
   *
   * @param listener called with each result, by one thread at a time
   * @throws IOException where there is no such file or folder, or it cannot be read
   * @throws VectorFormatException where a folder holds no file of the format, or the filter lets
   *     nothing through
   * @throws InterruptedException where the calling thread was interrupted; the threads have ended
   */
  public SuiteReport run(Target target, RunOptions options, Listener listener)
      throws IOException, VectorFormatException, InterruptedException {
    long start = System.nanoTime();
    List<Found> files = find();
    Collector results = new Collector(listener);
    Semaphore waiting = new Semaphore(threads * WAITING_PER_THREAD);
    VectorRunner runner = new VectorRunner(target, options);
    List<Thread> workers = Collections.synchronizedList(new ArrayList<>());
    ThreadFactory factory = Thread.ofPlatform().name("vectors-", 1).daemon().factory();
    ExecutorService executor =
        Executors.newFixedThreadPool(
            threads,
            task -> {
              Thread worker = factory.newThread(task);
              workers.add(worker);
              return worker;
            });
    try {
      for (Found file : files) {
        submit(file, runner, executor, waiting, results);
      }
      waiting.acquire(threads * WAITING_PER_THREAD);
    } finally {
      // On an interrupt the examples that run are waited for: they use memory of the target.
      executor.shutdownNow();
      executor.close();
      // A pool has ended a little before its threads have.
      for (Thread worker : workers) {
        worker.join();
      }
    }
    List<SuiteReport.Result> all = results.sorted();
    if (all.isEmpty()) {
      throw new VectorFormatException(
          "no example of " + root + " matches '" + filter.pattern() + "'");
    }
    return new SuiteReport(target.name(), all, Duration.ofNanos(System.nanoTime() - start));
  }

  private void submit(
      Found file,
      VectorRunner runner,
      ExecutorService executor,
      Semaphore waiting,
      Collector results)
      throws IOException, InterruptedException {
    List<Example> examples;
    try {
      // The result has the name of the file, so that the reason needs none.
      examples = VectorFileReader.read(Files.readAllBytes(file.path())).examples();
    } catch (VectorFormatException e) {
      if (filter.acceptsFile(file.name())) {
        results.add(failed(file, "", e.getMessage()));
      }
      return;
    }
    for (Example example : examples) {
      if (filter.accepts(file.name(), example.name())) {
        waiting.acquire();
        executor.execute(
            () -> {
              try {
                results.add(run(file, example, runner));
              } finally {
                waiting.release();
              }
            });
      }
    }
  }

  private static SuiteReport.Result run(Found file, Example example, VectorRunner runner) {
    long start = System.nanoTime();
    Outcome outcome = runner.run(example);
    return new SuiteReport.Result(
        file.name(), example.name(), outcome, Duration.ofNanos(System.nanoTime() - start));
  }

  private static SuiteReport.Result failed(Found file, String example, String reason) {
    return new SuiteReport.Result(file.name(), example, new Outcome.Failed(reason), Duration.ZERO);
  }

  /**
   * The files of the format, and the damaged ones, in the order of their names.
   *
   * @throws IOException where there is no such file or folder, or it cannot be read
   * @throws VectorFormatException where a folder holds no file of the format
   */
  public List<Path> files() throws IOException, VectorFormatException {
    return find().stream().map(Found::path).toList();
  }

  private List<Found> find() throws IOException, VectorFormatException {
    if (Files.isRegularFile(root)) {
      Path folder = root.toAbsolutePath().getParent();
      return List.of(new Found(name(folder.getFileName(), root.getFileName()), root));
    }
    if (!Files.isDirectory(root)) {
      throw new NoSuchFileException(root.toString(), null, "no such file or folder");
    }
    List<Found> files = new ArrayList<>();
    try (Stream<Path> walk = Files.walk(root)) {
      for (Path path : (Iterable<Path>) walk.sorted()::iterator) {
        if (path.toString().endsWith(".json")
            && Files.isRegularFile(path)
            && isVectorsOrDamaged(path)) {
          files.add(new Found(root.relativize(path).toString().replace('\\', '/'), path));
        }
      }
    }
    if (files.isEmpty()) {
      throw new VectorFormatException(root + " holds no file of the format " + VectorFile.FORMAT);
    }
    return files;
  }

  private static String name(Path folder, Path file) {
    return folder == null ? file.toString() : folder + "/" + file;
  }

  /** JSON that is well-formed and says nothing of this format is of another, as an index is. */
  private static boolean isVectorsOrDamaged(Path path) throws IOException {
    try (InputStream in = Files.newInputStream(path)) {
      String head = new String(in.readNBytes(HEAD), StandardCharsets.ISO_8859_1);
      if (head.contains("\"" + VectorFile.FORMAT + "\"")) {
        return true;
      }
    }
    return !VectorFileReader.isJson(Files.readAllBytes(path));
  }

  /** A file by the name that it is reported under: {@code folder/file.json}. */
  private record Found(String name, Path path) {}

  /** Listens to the progress of a run. */
  @FunctionalInterface
  public interface Listener {
    /** Ignores it. */
    Listener NONE = (result, count) -> {};

    /**
     * An example has been run, or a file was found damaged.
     *
     * @param count of the results so far, this one included
     */
    void finished(SuiteReport.Result result, int count);
  }

  /** Results as they come, from all threads. */
  private static final class Collector {
    private final Listener listener;
    private final List<SuiteReport.Result> results = new ArrayList<>();

    Collector(Listener listener) {
      this.listener = listener;
    }

    synchronized void add(SuiteReport.Result result) {
      results.add(result);
      listener.finished(result, results.size());
    }

    synchronized List<SuiteReport.Result> sorted() {
      return results.stream()
          .sorted(
              Comparator.comparing(SuiteReport.Result::file)
                  .thenComparing(SuiteReport.Result::example))
          .toList();
    }
  }
}
