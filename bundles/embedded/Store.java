// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Prepares the contents of the jar. The jars below the first folder are rewritten without
 * compression: the jar that they go into compresses each as one piece, which makes it a third
 * smaller, and their classes need not be inflated one by one. Beside them a file names the digest
 * of each jar in the second folder, whose classes go into the jar.
 */
final class Store {
  private Store() {}

  public static void main(String[] args) throws IOException, NoSuchAlgorithmException {
    List<Path> jars;
    try (Stream<Path> files = Files.walk(Path.of(args[0]))) {
      jars = files.filter(file -> file.toString().endsWith(".jar")).toList();
    }
    for (Path jar : jars) {
      Files.write(jar, stored(jar));
    }
    Files.writeString(Path.of(args[0], "code.sha256"), digests(Path.of(args[1])));
  }

  private static String digests(Path folder) throws IOException, NoSuchAlgorithmException {
    StringBuilder text = new StringBuilder();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path jar : files.sorted().toList()) {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar));
        text.append(jar.getFileName())
            .append(' ')
            .append(HexFormat.of().formatHex(digest))
            .append('\n');
      }
    }
    return text.toString();
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
