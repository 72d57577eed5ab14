// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Rewrites the jars below a folder without compression. The jar that they go into compresses each
 * as one piece, which makes it a third smaller, and their classes need not be inflated one by one.
 */
final class Store {
  private Store() {}

  public static void main(String[] args) throws IOException {
    List<Path> jars;
    try (Stream<Path> files = Files.walk(Path.of(args[0]))) {
      jars = files.filter(file -> file.toString().endsWith(".jar")).toList();
    }
    for (Path jar : jars) {
      Files.write(jar, stored(jar));
    }
  }

  private static byte[] stored(Path jar) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipFile from = new ZipFile(jar.toFile());
        ZipOutputStream to = new ZipOutputStream(bytes)) {
      for (ZipEntry entry : from.stream().toList()) {
        try (InputStream stream = from.getInputStream(entry)) {
          byte[] content = stream.readAllBytes();
          CRC32 check = new CRC32();
          check.update(content);
          ZipEntry copy = new ZipEntry(entry.getName());
          copy.setTime(entry.getTime());
          copy.setMethod(ZipEntry.STORED);
          copy.setSize(content.length);
          copy.setCrc(check.getValue());
          to.putNextEntry(copy);
          to.write(content);
          to.closeEntry();
        }
      }
    }
    return bytes.toByteArray();
  }
}
