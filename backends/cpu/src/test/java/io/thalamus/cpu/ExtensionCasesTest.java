// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.reference.Bounds;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The operations of the extension io.thalamus, whose expected values come from float64 formulas.
 */
class ExtensionCasesTest {
  private final CpuDevice device = new CpuDevice("1.0.0");

  private static List<Example> cases()
      throws IOException, VectorFormatException, URISyntaxException {
    return VectorFile.read(
            Path.of(ExtensionCasesTest.class.getResource("/cases/Extension.json").toURI()))
        .examples();
  }

  /** The kit judges devices by formulas of its own: both must agree. */
  @Test
  void theKitsFormulasGiveTheSame() throws Exception {
    Evaluator evaluator = new Evaluator();
    Set<String> unproved = new TreeSet<>(evaluator.operations());
    unproved.removeIf(name -> !name.startsWith(ThalamusExtension.NAME));
    assertFalse(unproved.isEmpty());
    for (Example example : cases()) {
      if (evaluator.knows(example)) {
        List<Tensor> values = evaluator.evaluate(example);
        for (Example.ExpectedOutput output : example.expectedOutputs()) {
          double[] expected = output.values().toArray();
          Bounds stored = values.get(output.operand()).stored();
          boolean isHalf = values.get(output.operand()).type() == OperandCode.TENSOR_FLOAT16;
          double off = isHalf ? 1e-3 : 1e-6;
          assertArrayEquals(expected, stored.middle(), off, example.name());
          for (int i = 0; i < expected.length; i++) {
            assertTrue(
                stored.low()[i] <= expected[i] + off && expected[i] - off <= stored.high()[i],
                example.name() + ": element " + i);
          }
        }
        example.main().operations().forEach(operation -> unproved.remove(operation.type()));
      }
    }
    assertEquals(Set.of(), unproved, "formulas that no case proves");
  }

  @TestFactory
  Stream<DynamicTest> ownCases() throws IOException, VectorFormatException, URISyntaxException {
    return cases().stream()
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
