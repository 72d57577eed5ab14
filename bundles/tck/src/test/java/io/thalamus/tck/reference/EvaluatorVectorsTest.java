// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.model.Tolerance;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.vectors.Comparison;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorSuite;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** The oracle against AOSP's golden vectors: both must agree before either judges a device. */
class EvaluatorVectorsTest {
  private final Evaluator evaluator = new Evaluator();
  private final List<String> wrong = new ArrayList<>();
  private final Set<String> seen = new TreeSet<>();
  private int evaluated;

  @Test
  void agreesWithTheGoldenVectors() throws Exception {
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "no golden vectors beside the project");
    for (Path file : VectorSuite.of(vectors.get()).files()) {
      for (Example example : VectorFile.read(file).examples()) {
        if (!example.expectFailure() && evaluator.knows(example)) {
          evaluate(file, example);
        }
      }
    }
    System.out.println(
        "evaluated "
            + evaluated
            + " examples of "
            + vectors.get()
            + " with "
            + seen.size()
            + " operations");
    assertEquals(List.of(), wrong.subList(0, Math.min(40, wrong.size())), wrong.size() + " wrong");
    assertTrue(evaluated > 4_000, "evaluated " + evaluated);
    Set<String> unseen = new TreeSet<>(evaluator.operations());
    unseen.removeAll(seen);
    // AOSP has no vectors of an extension's operations; the CPU device's cases prove them.
    unseen.removeIf(name -> name.startsWith(ThalamusExtension.NAME));
    assertEquals(Set.of(), unseen, "formulas that no vector proves");
  }

  private void evaluate(Path file, Example example) throws Exception {
    List<Tensor> values;
    try {
      values = evaluator.evaluate(example);
    } catch (UnsupportedOperationException e) {
      return;
    } catch (RuntimeException e) {
      wrong.add(file.getFileName() + " " + example.name() + ": " + e);
      return;
    }
    evaluated++;
    example.main().operations().stream().map(RawOperation::type).forEach(seen::add);
    try (DecodedExample decoded = example.decode()) {
      Comparison comparison = new Comparison(decoded);
      for (Example.ExpectedOutput output : example.expectedOutputs()) {
        Tensor value = values.get(output.operand());
        Optional<String> fault =
            output.ignored() ? Optional.empty() : compare(example, output, value, comparison);
        fault.ifPresent(text -> wrong.add(file.getFileName() + " " + example.name() + text));
      }
    }
  }

  private static Optional<String> compare(
      Example example, Example.ExpectedOutput output, Tensor value, Comparison comparison) {
    int[] dims = example.main().operands().get(output.operand()).dims().toArray();
    if (!Arrays.equals(dims, value.shape())) {
      return Optional.of(
          ": shape " + Arrays.toString(value.shape()) + ", expected " + Arrays.toString(dims));
    }
    OperandCode type = value.type();
    Tolerance tolerance = comparison.tolerance(type);
    Bounds stored = value.stored();
    for (int i = 0; i < output.values().size(); i++) {
      double expected = output.values().get(i);
      double off = tolerance.margin(expected);
      boolean isWithin = stored.low()[i] - off <= expected && expected <= stored.high()[i] + off;
      boolean isOpen = !stored.isExact(i) && type == OperandCode.TENSOR_INT32;
      if (!isWithin || (!isOpen && Math.abs(stored.middle()[i] - expected) > off)) {
        return Optional.of(
            ": element "
                + i
                + " is "
                + stored.middle()[i]
                + " in "
                + stored.low()[i]
                + ".."
                + stored.high()[i]
                + ", expected "
                + expected);
      }
    }
    return Optional.empty();
  }
}
