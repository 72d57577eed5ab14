// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConformanceDataTest {
  @TempDir Path parent;

  @Test
  void findsTheFolderBesideTheProject() throws Exception {
    Path inside = Files.createDirectories(parent.resolve("project/bundles/vectors"));
    Files.createFile(parent.resolve("project/mvnw"));
    assertEquals(Optional.empty(), ConformanceData.besideProject(inside));

    Path shared = Files.createDirectory(parent.resolve("shared"));

    assertEquals(Optional.of(shared), ConformanceData.besideProject(inside));
    assertEquals(Optional.of(shared), ConformanceData.besideProject(parent.resolve("project")));
  }

  @Test
  void findsNothingOutsideAProject() {
    assertEquals(Optional.empty(), ConformanceData.besideProject(parent));
  }
}
