// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The operations of the extension io.thalamus, whose expected values come from float64 formulas.
 */
class ExtensionCasesTest {
  private final CpuDevice device = new CpuDevice("1.0.0");

  @TestFactory
  Stream<DynamicTest> ownCases() throws IOException, VectorFormatException, URISyntaxException {
    VectorFile file =
        VectorFile.read(
            Path.of(ExtensionCasesTest.class.getResource("/cases/Extension.json").toURI()));
    return file.examples().stream()
        .map(
            example ->
                DynamicTest.dynamicTest(
                    example.name(),
                    () -> assertEquals(List.of(), FamilyCases.failures(device, example, true))));
  }

  @Test
  void theDeviceSaysThatItKnowsTheExtension() {
    assertTrue(device.info().extensions().contains(ThalamusExtension.NAME));
  }
}
