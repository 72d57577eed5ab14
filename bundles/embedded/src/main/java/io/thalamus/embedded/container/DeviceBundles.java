// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * The framework as the program's classes see it: this type is loaded beside them, and its
 * implementation with the framework. Thread-safe; owned by one {@link Container}.
 */
public interface DeviceBundles extends AutoCloseable {
  /** Returns one line for each bundle that has no device here. */
  List<String> problems();

  /** Returns a digest of the bundles that were installed, as text. */
  String digest();

  /**
   * Installs a bundle, or updates the one of the same symbolic name.
   *
   * @param name its symbolic name
   * @throws IOException whose message is one line, if the file cannot be read or does not start
   */
  void install(String name, Path file) throws IOException;

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
