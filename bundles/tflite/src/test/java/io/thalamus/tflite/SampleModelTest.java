// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Trained networks: the project's own, and published ones where they are at hand. */
class SampleModelTest {
  private final TfliteReader reader = new TfliteReader();

  @Test
  void knowsItsFilesByIdentifierOrName() throws IOException {
    MemorySegment head =
        MemorySegment.ofArray(Files.readAllBytes(TestFiles.digits())).asSlice(0, 64);
    assertTrue(reader.accepts("model.bin", head));
    assertTrue(reader.accepts("Model.TFLITE", MemorySegment.ofArray(new byte[3])));
    assertFalse(reader.accepts("model.onnx", MemorySegment.ofArray(new byte[64])));
    assertEquals("TensorFlow Lite", reader.format());
  }

  @Test
  void digits() throws ModelFormatException {
    try (SharedMemory file = SharedMemory.map(TestFiles.digits())) {
      ModelFile read = reader.read(file);
      assertEquals(
          """
          CONV_2D(picture, conv1/weights, conv1/bias, 1, 1, 1, 1) -> conv1
          MAX_POOL_2D(conv1, 2, 2, 2, 2, 2, 0) -> pool1
          DEPTHWISE_CONV_2D(pool1, depthwise1/weights, depthwise1/bias, 1, 1, 1, 1, 1) -> depthwise1
          CONV_2D(depthwise1, conv2/weights, conv2/bias, 2, 1, 1, 1) -> conv2
          MAX_POOL_2D(conv2, 2, 2, 2, 2, 2, 0) -> pool2
          CONV_2D(pool2, conv3/weights, conv3/bias, 2, 1, 1, 1) -> conv3
          FULLY_CONNECTED(conv3, dense1/weights, dense1/bias, 1) -> dense1
          FULLY_CONNECTED(dense1, dense2/weights, dense2/bias, 0) -> dense2
          SOFTMAX(dense2, 1.0) -> scores\
          """,
          ModelText.of(read.model()));
      assertEquals(List.of(file), read.model().pools());
      long referred =
          read.model().main().operands().stream()
              .map(Operand::lifetime)
              .filter(ConstantReference.class::isInstance)
              .mapToLong(lifetime -> ((ConstantReference) lifetime).length())
              .sum();
      assertTrue(referred > 50_000, "weights of " + referred + " bytes are not copied");
    }
  }

  /** Published networks: which operations each becomes, weights by reference, valid as a whole. */
  @Test
  void publishedModels() throws IOException {
    Optional<Path> root = TestFiles.sharedModels();
    Assumptions.assumeTrue(root.isPresent(), "the published models are not at hand");
    Map<String, String> refused = new TreeMap<>();
    int read = 0;
    try (Stream<Path> folders = Files.list(root.get())) {
      for (Path folder : folders.sorted().toList()) {
        Path path = folder.resolve("model.tflite");
        if (Files.exists(path)) {
          read++;
          read(folder.getFileName().toString(), path)
              .ifPresent(reason -> refused.put(folder.getFileName().toString(), reason));
        }
      }
    }
    System.out.println("published models: " + read + " files, refused " + refused);
    assertTrue(read >= 15, read + " models");
    assertEquals(Map.of(), refused);
  }

  private Optional<String> read(String name, Path path) {
    try (SharedMemory file = SharedMemory.map(path)) {
      Model model = reader.read(file).model();
      FeatureLevel level = OperationCatalog.standard().validator().validate(model);
      System.out.println(name + ": " + model.main().operations().size() + " operations, " + level);
      return Optional.empty();
    } catch (ModelFormatException | ValidationException e) {
      return Optional.of(e.getMessage());
    }
  }

  @Test
  void closedMemoryIsNotAFormatError() {
    SharedMemory file = SharedMemory.map(TestFiles.digits());
    file.close();
    assertThrows(IllegalStateException.class, () -> reader.read(file));
  }
}
