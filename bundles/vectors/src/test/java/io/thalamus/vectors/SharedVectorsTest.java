// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.thalamus.model.Model;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** AOSP's vectors: all of them can be read, decoded and written. */
class SharedVectorsTest {
  private static Path vectors;

  @BeforeAll
  static void find() {
    Optional<Path> found = ConformanceData.vectors();
    assumeTrue(found.isPresent(), "no conformance vectors: set -Dthalamus.shared");
    vectors = found.get();
    System.out.println("conformance vectors of " + vectors);
  }

  @Test
  void holdWhatTheirIndexSays() throws Exception {
    JsonNode index = new JsonMapper().readTree(vectors.resolve("INDEX.json").toFile());
    int files = 0;
    int examples = 0;
    for (Map.Entry<String, JsonNode> entry : index.properties()) {
      String name = entry.getKey();
      JsonNode said = entry.getValue();
      VectorFile file = VectorFile.read(vectors.resolve(name));
      files++;
      examples += file.examples().size();
      assertEquals(said.get("examples").asInt(), file.examples().size(), name);
      assertEquals(
          said.get("expectFailure").asLong(),
          file.examples().stream().filter(Example::expectFailure).count(),
          name);
      assertEquals(
          said.get("relaxed").asLong(),
          file.examples().stream().filter(Example::isRelaxed).count(),
          name);
      assertEquals(counts(said.get("ops")), operations(file), name);
    }
    System.out.println(files + " files, " + examples + " examples");
    try (var found = Files.walk(vectors)) {
      assertEquals(
          files + 1, found.filter(path -> path.toString().endsWith(".json")).count(), "files");
    }
  }

  private static Map<String, Integer> counts(JsonNode node) {
    Map<String, Integer> counts = new TreeMap<>();
    node.properties().forEach(field -> counts.put(field.getKey(), field.getValue().asInt()));
    return counts;
  }

  /** In how many examples each operation occurs, from the decoded models. */
  private static Map<String, Integer> operations(VectorFile file) throws VectorFormatException {
    Map<String, Integer> counts = new TreeMap<>();
    for (Example example : file.examples()) {
      try (DecodedExample decoded = example.decode()) {
        assertEquals(example.inputs().size(), decoded.inputs().size());
        names(decoded.model()).forEach(name -> counts.merge(name, 1, Integer::sum));
      }
    }
    return counts;
  }

  private static Iterable<String> names(Model model) {
    return model
            .subgraphs()
            .flatMap(subgraph -> subgraph.operations().stream())
            .map(operation -> operation.type().text())
            .distinct()
        ::iterator;
  }

  @Test
  void areWrittenAsTheyWereRead() throws Exception {
    try (var found = Files.walk(vectors)) {
      for (Path path : (Iterable<Path>) found.filter(SharedVectorsTest::isVectors)::iterator) {
        VectorFile file = VectorFile.read(path);
        byte[] text = VectorFileWriter.text(file).getBytes(StandardCharsets.UTF_8);
        assertEquals(file, VectorFileReader.read(text), path.toString());
      }
    }
  }

  private static boolean isVectors(Path path) {
    return path.toString().endsWith(".json") && !path.endsWith("INDEX.json");
  }
}
