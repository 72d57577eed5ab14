// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.integration.proof.Workload;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** A file that changes while its model is loaded: nothing of it is seen. */
public class LoadedModelIT {
  private final BundleContext context =
      FrameworkUtil.getBundle(LoadedModelIT.class).getBundleContext();
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;
  private byte[] digits;
  private Path file;

  @BeforeEach
  void open() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
    digits =
        Files.readAllBytes(
            Path.of(context.getProperty("thalamus.root"))
                .resolve("launcher/samples/digits/digits.tflite"));
    Path directory = Files.createTempDirectory(context.getDataFile("").toPath(), "model");
    file = Files.write(directory.resolve("digits.tflite"), digits);
  }

  @AfterEach
  void close() {
    context.ungetService(reference);
  }

  /** Overwrites the file in place with as many bytes, whose second half is others. */
  private void overwrite() throws Exception {
    byte[] other = digits.clone();
    for (int i = other.length / 2; i < other.length; i++) {
      other[i] ^= 0x55;
    }
    Files.write(file, other);
  }

  @Test
  void aTruncatedFileChangesNothing() throws Exception {
    for (String device : List.of("cpu", "simd")) {
      Files.write(file, digits);
      answersStayRight(device, () -> Files.write(file, new byte[0]));
    }
  }

  @Test
  void anOverwrittenFileChangesNothing() throws Exception {
    for (String device : List.of("cpu", "simd")) {
      Files.write(file, digits);
      answersStayRight(device, this::overwrite);
    }
  }

  private void answersStayRight(String device, Executable change) throws Exception {
    CompilationOptions options = CompilationOptions.DEFAULT.withDevices(List.of(device));
    try (Workload loaded = new Workload(networks, file, List.of());
        Compilation early = loaded.compile(options)) {
      assertDoesNotThrow(change);
      assertIsRight(loaded, early);
      try (Compilation late = loaded.compile(options)) {
        assertIsRight(loaded, late);
      }
    }
    assertEquals(
        0,
        networks.devices().stream()
            .filter(one -> one.id().equals(device))
            .mapToLong(one -> one.health().failures())
            .sum(),
        "no device is blamed");
  }

  private static void assertIsRight(Workload loaded, Compilation compilation) {
    for (int i = 0; i < loaded.requests(); i++) {
      Workload.Answer answer = loaded.run(compilation, i);
      assertTrue(answer.isRight(), () -> answer.report().toString());
    }
  }
}
