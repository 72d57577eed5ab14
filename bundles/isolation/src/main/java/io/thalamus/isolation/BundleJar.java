// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import org.osgi.framework.Bundle;

/**
 * The contents of an installed bundle as a jar: what the framework has of it, which the file that
 * it came from may be no longer. Stateless.
 */
final class BundleJar {
  private BundleJar() {}

  /** Writes the contents of a bundle into a file. */
  static void write(Bundle bundle, Path file) throws IOException {
    Enumerated entries = Enumerated.of(bundle);
    try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file))) {
      // The manifest comes first, where streams look for it.
      add(jar, JarFile.MANIFEST_NAME, entries.manifest());
      for (URL entry : entries.others()) {
        add(jar, entry.getPath().substring(1), entry);
      }
    }
  }

  private record Enumerated(URL manifest, List<URL> others) {
    static Enumerated of(Bundle bundle) throws IOException {
      URL manifest = bundle.getEntry(JarFile.MANIFEST_NAME);
      var entries = bundle.findEntries("/", "*", true);
      if (manifest == null || entries == null) {
        throw new IOException(bundle.getSymbolicName() + " has no contents any more");
      }
      return new Enumerated(
          manifest,
          Collections.list(entries).stream()
              .filter(entry -> !entry.getPath().endsWith("/"))
              .filter(entry -> !entry.getPath().equals(manifest.getPath()))
              .toList());
    }
  }

  private static void add(JarOutputStream jar, String name, URL entry) throws IOException {
    jar.putNextEntry(new JarEntry(name));
    try (InputStream in = entry.openStream()) {
      in.transferTo(jar);
    }
    jar.closeEntry();
  }
}
