// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;

/** The models and vectors outside the project; tests that need them are skipped without. */
final class Shared {
  private Shared() {}

  /** A file or folder there. */
  static Path file(String name) {
    String property = System.getProperty("thalamus.shared", "");
    String variable = System.getenv("THALAMUS_SHARED");
    Path root = Path.of(System.getProperty("thalamus.root", "."));
    Path shared =
        !property.isEmpty()
            ? Path.of(property)
            : variable != null ? Path.of(variable) : root.resolve("../shared");
    Path file = shared.resolve(name).normalize();
    Assumptions.assumeTrue(Files.exists(file), "not there: " + file);
    System.out.println("uses " + file);
    return file;
  }
}
