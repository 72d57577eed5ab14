// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;

/** Makes bundles out of single packages of this one. Stateless. */
final class BundleFile {
  private BundleFile() {}

  /**
   * A bundle's file.
   *
   * @param code the folder of the package that it holds; one that is not there for none
   * @param headers what its manifest says
   */
  static InputStream of(String code, Map<String, String> headers) throws IOException {
    return of(code, headers, Map.of());
  }

  /**
   * A bundle's file with texts of its own.
   *
   * @param texts by their names in the file
   */
  static InputStream of(String code, Map<String, String> headers, Map<String, String> texts)
      throws IOException {
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.putValue(Constants.BUNDLE_MANIFESTVERSION, "2");
    headers.forEach(main::putValue);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarOutputStream jar = new JarOutputStream(bytes, manifest)) {
      Enumeration<URL> classes =
          FrameworkUtil.getBundle(BundleFile.class).findEntries(code, "*.class", false);
      while (classes != null && classes.hasMoreElements()) {
        URL url = classes.nextElement();
        jar.putNextEntry(new JarEntry(url.getPath().substring(1)));
        try (InputStream in = url.openStream()) {
          in.transferTo(jar);
        }
      }
      for (Map.Entry<String, String> text : texts.entrySet()) {
        jar.putNextEntry(new JarEntry(text.getKey()));
        jar.write(text.getValue().getBytes(StandardCharsets.UTF_8));
      }
    }
    return new ByteArrayInputStream(bytes.toByteArray());
  }

  /** Another bundle's file with one more text in it. */
  static byte[] with(Path bundle, String name, String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarInputStream from = new JarInputStream(Files.newInputStream(bundle));
        JarOutputStream jar = new JarOutputStream(bytes, from.getManifest())) {
      for (JarEntry entry = from.getNextJarEntry(); entry != null; entry = from.getNextJarEntry()) {
        jar.putNextEntry(new JarEntry(entry.getName()));
        from.transferTo(jar);
      }
      jar.putNextEntry(new JarEntry(name));
      jar.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }
}
