// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import io.thalamus.x86.code.Machine;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * The classes of a first inference on {@code x86}, from the end of a start to its result. A JVM
 * takes a tenth of a millisecond and more for each; a thread that loads them beside the one that
 * will need them makes a first result come a tenth earlier. {@code integration-tests/run opening
 * --write-classes} writes their names. Stateless.
 */
final class FirstClasses {
  private static final String NAMES = "first-classes.txt";

  private FirstClasses() {}

  /** Loads them, where there is a processor for that. */
  static void load() {
    if (Machine.isForeign() || Runtime.getRuntime().availableProcessors() == 1) {
      return;
    }
    try (InputStream names = Container.open(NAMES)) {
      for (String name : new String(names.readAllBytes(), StandardCharsets.US_ASCII).split("\n")) {
        load(name);
      }
    } catch (IOException e) {
      // Nothing is missing without the list but time.
    }
  }

  private static void load(String name) {
    try {
      // The question for its constructors has the JVM verify the class. To initialize it here is no
      // choice: another order than that of the code can block two threads.
      FirstClasses.class.getClassLoader().loadClass(name).getDeclaredConstructors();
    } catch (ClassNotFoundException | LinkageError e) {
      // A device has a constructor for a framework, which is not here; all else shows when needed.
    }
  }
}
