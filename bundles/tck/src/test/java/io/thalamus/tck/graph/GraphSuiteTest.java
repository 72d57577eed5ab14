// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.ModelValidator;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.VectorFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Order(Integer.MAX_VALUE)
class GraphSuiteTest {
  private static final long SEED = 4_711;

  /** More than what is tolerated, and not by much. */
  private static double error(OperandCode type) {
    return switch (type) {
      case TENSOR_FLOAT32 -> 0.02;
      case TENSOR_FLOAT16 -> 0.25;
      case TENSOR_INT32, INT32 -> 1;
      default -> 3;
    };
  }

  @Test
  void aSeedGivesOneGraphAndAnotherSeedAnother() {
    GraphGenerator generator = GraphGenerator.overAll();
    assertEquals(generator.graph(SEED), GraphGenerator.overAll().graph(SEED));
    assertNotEquals(generator.graph(SEED), generator.graph(SEED + 1));
  }

  @Test
  void graphsAreValidAndUseEveryOperation() throws Exception {
    GraphGenerator generator = GraphGenerator.overAll();
    ModelValidator validator = OperationCatalog.standard().validator();
    Set<String> used = new TreeSet<>();
    for (long seed = 0; seed < 600; seed++) {
      Example graph = generator.graph(SEED + seed);
      try (DecodedExample decoded = graph.decode()) {
        validator.validate(decoded.model());
      }
      graph.main().operations().forEach(operation -> used.add(operation.type()));
    }
    Set<String> unused = new TreeSet<>(generator.operations());
    unused.removeAll(used);
    assertEquals(Set.of(), unused);
  }

  @Test
  void everyFormulaIsUsedByAGraph() {
    assertEquals(new Evaluator().operations(), GraphGenerator.overAll().operations());
  }

  @Test
  void aDeviceThatIsRightPasses() throws Exception {
    GraphReport report = GraphSuite.of(new EvaluatorDevice("", type -> 0)).run(300, SEED);
    assertEquals(List.of(), report.failures().stream().map(GraphReport.Result::text).toList());
    assertEquals(300, report.passed());
    assertTrue(report.narrow() > 0.95 * report.elements());
  }

  /** Those of the first graphs that show a fault; none where 500 graphs show none. */
  private static List<GraphReport.Result> firstFailures(String operation) throws Exception {
    GraphSuite suite = GraphSuite.of(new EvaluatorDevice(operation, GraphSuiteTest::error));
    List<GraphReport.Result> failures = List.of();
    for (int done = 0; done < 500 && failures.isEmpty(); done += 25) {
      failures = suite.run(25, SEED + done).failures();
    }
    return failures;
  }

  @Test
  void aFaultIsFoundInWhateverOperationItIs() throws Exception {
    List<String> operations =
        new ArrayList<>(List.of("MAXIMUM", "CONV_2D", "SOFTMAX", "LESS", "GATHER", "RANK"));
    Stream.of(
            ThalamusExtension.ATAN2,
            ThalamusExtension.BITWISE_XOR,
            ThalamusExtension.NON_MAX_SUPPRESSION,
            ThalamusExtension.NON_ZERO,
            ThalamusExtension.RESCALE,
            ThalamusExtension.RIGHT_SHIFT,
            ThalamusExtension.ROI_ALIGN,
            ThalamusExtension.UNIQUE)
        .map(Evaluator::name)
        .forEach(operations::add);
    for (String operation : operations) {
      List<GraphReport.Result> failures = firstFailures(operation);
      assertFalse(failures.isEmpty(), operation);
      for (GraphReport.Result failure : failures) {
        assertTrue(
            failure.smallest().main().operations().stream()
                .anyMatch(o -> o.type().equals(operation)),
            failure.text());
      }
      List<String> larger =
          failures.stream()
              .filter(failure -> failure.smallest().main().operations().size() > 1)
              .map(GraphReport.Result::text)
              .toList();
      assertEquals(List.of(), larger, operation);
    }
  }

  @Test
  void aFailingGraphIsMadeSmallAndWritten(@TempDir Path folder) throws Exception {
    EvaluatorDevice device = new EvaluatorDevice("MINIMUM", GraphSuiteTest::error);
    GraphReport report = GraphSuite.of(device).run(300, SEED);
    GraphReport.Result failure = report.failures().getFirst();
    List<Path> files = GraphSuite.write(List.of(failure), folder);
    Example read = VectorFile.read(files.getFirst()).examples().getFirst();
    assertEquals(failure.smallest().name(), read.name());
    assertInstanceOf(Outcome.Failed.class, new GraphCheck(device).run(read));
    int elements = read.expectedOutputs().stream().mapToInt(output -> output.values().size()).sum();
    assertTrue(elements <= 4, failure.text() + " has " + elements + " elements");
  }
}
