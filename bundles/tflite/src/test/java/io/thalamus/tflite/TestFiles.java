// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The files of tests, and the ways to read them. */
final class TestFiles {
  private TestFiles() {}

  /** The project's root: the nearest folder upwards that holds the build's wrapper. */
  static Path projectRoot() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("mvnw"))) {
      folder = folder.getParent();
      if (folder == null) {
        throw new IllegalStateException("no folder upwards holds mvnw");
      }
    }
    return folder;
  }

  /** The sample network that the project brings. */
  static Path digits() {
    return projectRoot().resolve("launcher/samples/digits/digits.tflite");
  }

  /** The folder of published models, outside of the project; says where it was looked for. */
  static Optional<Path> sharedModels() {
    String property = System.getProperty("thalamus.shared");
    String variable = System.getenv("THALAMUS_SHARED");
    Path root =
        property != null
            ? Path.of(property)
            : variable != null ? Path.of(variable) : projectRoot().resolveSibling("shared");
    Path models = root.resolve("models");
    boolean there = Files.isDirectory(models);
    System.out.println("published models: " + models + (there ? "" : " (not there: skipped)"));
    return there ? Optional.of(models) : Optional.empty();
  }

  /** Memory that holds these bytes; at least one byte, since less cannot be mapped. */
  static SharedMemory memory(byte[] bytes) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length);
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory.segment(), 0, bytes.length);
    return memory;
  }

  /** Reads a file made for a test; its memory stays open until the process ends. */
  static ModelFile read(byte[] file) throws ModelFormatException {
    return new TfliteReader().read(memory(file));
  }

  static ModelFile read(TfliteFileBuilder builder) throws ModelFormatException {
    return read(builder.build());
  }
}
