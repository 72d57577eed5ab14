// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import java.nio.file.Path;
import java.util.List;

/** An engine that some format comes from, or this one. Used by one thread. */
interface Peer {
  /** Returns the word in tables. */
  String name();

  /**
   * Loads a model until it could run.
   *
   * @throws Exception whatever the engine objects to
   */
  Loaded load(Path file, List<Input> inputs) throws Exception;

  /** Loads a model and closes it; returns the milliseconds that both take. */
  default double loadMillis(Path file, List<Input> inputs) throws Exception {
    long start = System.nanoTime();
    load(file, inputs).close();
    return (System.nanoTime() - start) / 1e6;
  }

  /** A model that is ready to run. */
  interface Loaded extends AutoCloseable {
    /**
     * Runs once.
     *
     * @param numbers by input, in the order of the file
     */
    List<Value> run(List<double[]> numbers) throws Exception;

    /**
     * Runs once more with what it was given last.
     *
     * @return the nanoseconds
     */
    long again() throws Exception;

    @Override
    void close();
  }
}
