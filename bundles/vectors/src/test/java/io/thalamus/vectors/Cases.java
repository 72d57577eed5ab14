// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;

/** The project's own small examples. */
final class Cases {
  private Cases() {}

  static Path folder(String name) {
    try {
      return Path.of(Cases.class.getResource("/" + name).toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  static VectorFile file(String name) throws IOException, VectorFormatException {
    return VectorFile.read(folder("cases").resolve(name));
  }

  static Example example(String name) throws IOException, VectorFormatException {
    String file = name.startsWith("while") ? "loop.json" : "elementwise.json";
    return file(file).example(name).orElseThrow();
  }

  static Example addFloat() throws IOException, VectorFormatException {
    return example("add_float");
  }
}
