// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.osgi.framework.Bundle;

/** The contents of a bundle as a jar, from which it can be installed anew. Stateless. */
final class BundleContents {
  private BundleContents() {}

  /**
   * Returns a jar of what the framework has of a bundle, wherever its file is by now.
   *
   * @throws IOException if the framework cannot read it any more
   */
  static byte[] of(Bundle bundle) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream jar = new ZipOutputStream(bytes)) {
      // A reader of streams looks for the manifest at the beginning.
      write(jar, JarFile.MANIFEST_NAME, bundle.getEntry(JarFile.MANIFEST_NAME));
      List<URL> entries = Collections.list(bundle.findEntries("/", "*", true));
      for (URL entry : entries) {
        String name = entry.getPath().substring(1);
        if (!name.endsWith("/") && !name.equals(JarFile.MANIFEST_NAME)) {
          write(jar, name, entry);
        }
      }
    }
    return bytes.toByteArray();
  }

  private static void write(ZipOutputStream jar, String name, URL entry) throws IOException {
    jar.putNextEntry(new ZipEntry(name));
    try (InputStream in = entry.openStream()) {
      in.transferTo(jar);
    }
    jar.closeEntry();
  }
}
