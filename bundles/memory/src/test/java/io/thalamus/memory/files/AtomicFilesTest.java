// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AtomicFilesTest {
  @TempDir Path directory;

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    }
  }

  @Test
  void aFileTakesThePlaceOfAnEarlierOne() throws IOException {
    Path file = Files.writeString(directory.resolve("file"), "earlier");
    AtomicFiles.replace(file, fresh -> Files.writeString(fresh, "later"));
    assertEquals("later", Files.readString(file));
    assertEquals(List.of(file), files());
  }

  @Test
  void aWriterThatFailsLeavesTheEarlierFile() throws IOException {
    Path file = Files.writeString(directory.resolve("file"), "earlier");
    IOException failure = new IOException("disk full");
    IOException thrown =
        assertThrows(
            IOException.class,
            () ->
                AtomicFiles.replace(
                    file,
                    fresh -> {
                      Files.writeString(fresh, "half");
                      assertEquals("earlier", Files.readString(file));
                      throw failure;
                    }));
    assertEquals(failure, thrown);
    assertEquals("earlier", Files.readString(file));
    assertEquals(List.of(file), files());
  }

  @Test
  void privateFilesAndDirectoriesAreForTheUserAlone() throws IOException {
    Path inner = directory.resolve("one/two");
    AtomicFiles.createDirectoriesPrivately(inner);
    Path file = inner.resolve("file");
    AtomicFiles.replacePrivately(file, new byte[] {1, 2}, new byte[] {3});
    assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(file));
    if (Files.getFileStore(directory).supportsFileAttributeView("posix")) {
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
      for (Path made : List.of(inner, inner.getParent())) {
        assertEquals(
            "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(made)));
      }
    }
  }

  @Test
  void aPrivateFileIsNotWrittenOverAnother() throws IOException {
    Path file = Files.writeString(directory.resolve("file"), "earlier");
    assertThrows(
        FileAlreadyExistsException.class, () -> AtomicFiles.createPrivately(file, new byte[1]));
    assertEquals("earlier", Files.readString(file));
  }

  @Test
  void temporaryNamesAreToldFromOthers() {
    Path file = directory.resolve("file");
    assertTrue(AtomicFiles.isTemporary(AtomicFiles.temporary(file)));
    assertFalse(AtomicFiles.isTemporary(file));
  }
}
