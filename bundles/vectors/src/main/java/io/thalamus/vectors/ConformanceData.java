// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The place of conformance vectors and public models. They are not part of the project; its root is
 * what names it first: the system property {@code thalamus.shared}, the environment variable {@code
 * THALAMUS_SHARED}, the folder {@code shared} beside the project, which is found by walking up from
 * the working directory to {@code mvnw}.
 */
public final class ConformanceData {
  private static final String PROPERTY = "thalamus.shared";
  private static final String VARIABLE = "THALAMUS_SHARED";

  private ConformanceData() {}

  /**
   * The folder that holds {@code vectors} and {@code models}; empty where nothing names one and
   * there is none beside the project.
   *
   * @throws IllegalStateException where property or variable names what is no folder
   */
  public static Optional<Path> root() {
    String property = System.getProperty(PROPERTY);
    if (property != null && !property.isBlank()) {
      return Optional.of(named("-D" + PROPERTY, property));
    }
    String variable = System.getenv(VARIABLE);
    if (variable != null && !variable.isBlank()) {
      return Optional.of(named(VARIABLE, variable));
    }
    return besideProject(Path.of("").toAbsolutePath());
  }

  /** The folder of conformance vectors, where it exists. */
  public static Optional<Path> vectors() {
    return root().map(root -> root.resolve("vectors")).filter(Files::isDirectory);
  }

  /** The folder of public models, where it exists. */
  public static Optional<Path> models() {
    return root().map(root -> root.resolve("models")).filter(Files::isDirectory);
  }

  private static Path named(String by, String value) {
    Path path = Path.of(value);
    if (!Files.isDirectory(path)) {
      throw new IllegalStateException(by + " names " + value + ", which is no folder");
    }
    return path;
  }

  static Optional<Path> besideProject(Path start) {
    for (Path folder = start; folder != null; folder = folder.getParent()) {
      if (Files.isRegularFile(folder.resolve("mvnw"))) {
        return Optional.of(folder.resolveSibling("shared")).filter(Files::isDirectory);
      }
    }
    return Optional.empty();
  }
}
