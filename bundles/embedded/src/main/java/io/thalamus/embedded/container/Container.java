// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import io.thalamus.api.NeuralNetworks;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The framework as the program's classes see it: this type is loaded beside them, and its
 * implementation with the framework. Thread-safe; owned by one {@code Thalamus}.
 */
public interface Container extends AutoCloseable {
  /**
   * Opens a resource of the jar.
   *
   * @param name below {@code META-INF/thalamus}
   * @throws IOException if it is not there
   */
  static InputStream open(String name) throws IOException {
    InputStream stream = Container.class.getResourceAsStream("/META-INF/thalamus/" + name);
    if (stream == null) {
      throw new IOException("the jar of Thalamus has no " + name);
    }
    return stream;
  }

  /** Returns the service. */
  NeuralNetworks neuralNetworks();

  /** Returns one line for each bundle that did not start. */
  List<String> problems();

  /** Calls a listener with the ids of the devices that serve whenever these change. */
  Runnable listen(Consumer<List<String>> listener);

  /**
   * Installs a device bundle, or updates the one of the same symbolic name.
   *
   * @throws IOException whose message is one line, if the file cannot be read or does not start
   */
  void install(Path file) throws IOException;

  /**
   * Uninstalls the bundle of a device.
   *
   * @throws IOException whose message is one line, if there is none
   */
  void uninstall(String device) throws IOException;

  /**
   * Gives a part its settings in the place of earlier ones.
   *
   * @throws IOException whose message is one line, if they cannot be taken
   */
  void configure(String part, Map<String, ?> settings) throws IOException;

  /** Stops the framework. */
  @Override
  void close() throws IOException;
}
