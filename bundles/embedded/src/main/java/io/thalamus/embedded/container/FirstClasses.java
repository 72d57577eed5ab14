// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import io.thalamus.x86.code.Machine;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * The classes that a first inference on {@code x86} needs after the devices are made. A thread
 * loads them while others start Thalamus and open the network: the JVM takes a tenth of a
 * millisecond and more for each. {@code integration-tests/run opening --write-classes} writes the
 * list. Stateless.
 */
final class FirstClasses {
  private static final String NAMES = "first-classes.txt";

  // Options by which the JVM has an archive of the program's classes.
  private static final String AOT_CACHE = "-XX:AOTCache";
  private static final String SHARED_ARCHIVE = "-XX:SharedArchiveFile";

  private FirstClasses() {}

  /** Loads them, where there is a processor for that, unless the JVM has them in an archive. */
  static void load() {
    if (Machine.isForeign() || Runtime.getRuntime().availableProcessors() == 1 || hasArchive()) {
      return;
    }
    try (InputStream names = Container.open(NAMES)) {
      for (String name : new String(names.readAllBytes(), StandardCharsets.US_ASCII).split("\n")) {
        load(name);
      }
    } catch (IOException e) {
      // Without the list, each class is loaded when it is needed.
    }
  }

  private static boolean hasArchive() {
    try (InputStream options = new FileInputStream("/proc/self/cmdline")) {
      String all =
          new String(options.readAllBytes(), StandardCharsets.ISO_8859_1)
              + System.getenv("JDK_JAVA_OPTIONS")
              + System.getenv("JAVA_TOOL_OPTIONS");
      return all.contains(AOT_CACHE) || all.contains(SHARED_ARCHIVE);
    } catch (IOException e) {
      return false;
    }
  }

  private static void load(String name) {
    try {
      // The JVM verifies a class when it is asked for the constructors. Nothing is initialized
      // here: two threads that initialize in different orders can block each other.
      FirstClasses.class.getClassLoader().loadClass(name).getDeclaredConstructors();
    } catch (ClassNotFoundException | LinkageError | IllegalStateException e) {
      // The devices have constructors for a framework, which is not here, and a program may have
      // closed its loader meanwhile. If anything else is missing, whoever needs it fails.
    }
  }
}
