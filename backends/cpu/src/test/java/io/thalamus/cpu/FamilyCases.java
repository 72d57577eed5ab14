// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.model.OperationCode;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.RunOptions.Inputs;
import io.thalamus.vectors.RunOptions.Outputs;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorRunner;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Runs the cases of one family of operations on the reference device: those in {@code
 * cases/FAMILY.json}, whose expected values come from formulas of their own in float64, and where
 * they are at hand the golden vectors in which an operation of the family occurs.
 */
abstract class FamilyCases {
  private final String family;
  private final Set<OperationCode> operations;
  private final CpuDevice device = new CpuDevice("1.0.0");

  FamilyCases(String family, OperationCode... operations) {
    this.family = family;
    this.operations = Set.of(operations);
  }

  @TestFactory
  Stream<DynamicTest> ownCases() throws IOException, VectorFormatException, URISyntaxException {
    URL resource = FamilyCases.class.getResource("/cases/" + family + ".json");
    VectorFile file = VectorFile.read(Path.of(resource.toURI()));
    Set<String> missing = new java.util.TreeSet<>();
    operations.forEach(operation -> missing.add(operation.name()));
    file.examples().forEach(example -> names(example).forEach(missing::remove));
    assertEquals(Set.of(), missing, "operations without a case of their own");
    return file.examples().stream()
        .map(
            example ->
                DynamicTest.dynamicTest(
                    example.name(), () -> assertEquals(List.of(), failures(example, true))));
  }

  @Test
  void goldenVectors() throws IOException, VectorFormatException {
    Optional<Path> vectors = ConformanceData.vectors();
    assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    List<String> failures = new ArrayList<>();
    TreeMap<String, Integer> counts = new TreeMap<>();
    for (Path path : files(vectors.get())) {
      for (Example example : VectorFile.read(path).examples()) {
        if (names(example).anyMatch(name -> operations.contains(OperationCode.valueOf(name)))) {
          counts.merge(path.getParent().getFileName().toString(), 1, Integer::sum);
          failures(example, false).forEach(why -> failures.add(path.getFileName() + " " + why));
        }
      }
    }
    assertFalse(counts.isEmpty(), "no vector has an operation of " + family);
    System.out.println(family + " on golden vectors of " + vectors.get() + ": " + counts);
    assertEquals(List.of(), failures);
  }

  private List<Path> files(Path vectors) throws IOException {
    List<Path> files = new ArrayList<>();
    try (Stream<Path> walk = Files.walk(vectors)) {
      for (Path path : (Iterable<Path>) walk.sorted()::iterator) {
        if (path.getParent().getFileName().toString().startsWith("V1_") && mentions(path)) {
          files.add(path);
        }
      }
    }
    return files;
  }

  /**
   * Returns true if a file has the name of an operation: reading all files in full would take long.
   */
  private boolean mentions(Path path) throws IOException {
    String text = Files.readString(path, StandardCharsets.ISO_8859_1);
    return operations.stream().anyMatch(operation -> text.contains("\"" + operation + "\""));
  }

  private static Stream<String> names(Example example) {
    return example
        .subgraphs()
        .flatMap(graph -> graph.operations().stream())
        .map(operation -> operation.type());
  }

  private List<String> failures(Example example, boolean mustApply) {
    return failures(device, example, mustApply);
  }

  /**
   * Runs an example with outputs of known, unknown and too small size; one that must apply also
   * with inputs whose size only the request tells.
   */
  static List<String> failures(CpuDevice device, Example example, boolean mustApply) {
    List<RunOptions> paths = new ArrayList<>();
    for (Outputs outputs : Outputs.values()) {
      paths.add(RunOptions.DEFAULT.with(outputs));
    }
    if (mustApply) {
      paths.add(RunOptions.DEFAULT.with(Inputs.UNSPECIFIED));
    }
    List<String> failures = new ArrayList<>();
    for (RunOptions options : paths) {
      switch (new VectorRunner(new DeviceTarget(device), options).run(example)) {
        case Outcome.Failed failed ->
            failures.add(example.name() + " " + options + ": " + failed.reason());
        case Outcome.Skipped skipped -> {
          if (mustApply && options.outputs() == Outputs.FULLY_SPECIFIED) {
            failures.add(example.name() + " was skipped: " + skipped.reason());
          }
        }
        case Outcome.Passed _ -> {}
      }
    }
    return failures;
  }
}
