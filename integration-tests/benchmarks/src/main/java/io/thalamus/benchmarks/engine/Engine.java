// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.engine;

import io.thalamus.model.Priority;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * Something that runs models: ours or a peer, which is found by {@link ServiceLoader} where it is
 * on the class path. Stateless.
 */
public interface Engine {
  /** The word on the command line and in tables. */
  String name();

  /** The format that it reads: {@code tflite} or {@code onnx}. */
  String format();

  /**
   * Starts the engine.
   *
   * @param threads how many threads may compute one execution
   * @throws Exception whatever the engine objects to
   */
  Host start(int threads) throws Exception;

  /** An engine that is ready to open models. Thread-safe; owned by whoever started it. */
  interface Host extends AutoCloseable {
    /**
     * Makes a model ready to run.
     *
     * @param inputs the bytes of each input, in the order and layout of the file
     * @param priority among the sessions of this host, if the engine has priorities
     * @throws Exception whatever the engine objects to
     */
    Session open(Path model, List<byte[]> inputs, Priority priority) throws Exception;

    /** Ends the engine. Its sessions have been closed. */
    @Override
    default void close() {}
  }

  /** A model that is ready to run. Used by one thread; owned by whoever opened it. */
  interface Session extends AutoCloseable {
    /** Runs once over the inputs that it was opened with. */
    void run() throws Exception;

    /** The bytes of each output of the last run. */
    List<byte[]> outputs() throws Exception;

    /** Returns a note on its background, for example how many operations ran on which device. */
    String note();

    @Override
    void close();
  }

  /** All that are here, ours first. */
  static List<Engine> all() {
    List<Engine> engines =
        new ArrayList<>(
            List.of(
                new ThalamusEngine("simd", Way.RUNTIME),
                new ThalamusEngine("x86", Way.RUNTIME),
                new ThalamusEngine("x86", Way.RUNTIME, "onnx"),
                new ThalamusEngine("cpu", Way.RUNTIME),
                new ThalamusEngine("simd", Way.BURST),
                new ThalamusEngine("simd", Way.LISTENER),
                new ThalamusEngine("simd", Way.ISOLATED),
                new ThalamusEngine("simd", Way.ISOLATED_SLEEPING),
                new ThalamusEngine("simd", Way.DRIVER),
                new ThalamusEngine("x86", Way.DRIVER)));
    ServiceLoader.load(Engine.class).forEach(engines::add);
    return engines;
  }

  /**
   * The one with this name, where it is here.
   *
   * @param name may end with {@code @} and another checkout, which has it too
   */
  static Optional<Engine> find(String name) {
    String own = name.replaceFirst("@.*", "");
    return all().stream().filter(engine -> engine.name().equals(own)).findFirst();
  }
}
