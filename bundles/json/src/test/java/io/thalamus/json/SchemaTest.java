// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalamus.json.form.Form;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The published schema, against the names that reader and writer know, and an example. */
class SchemaTest {
  private static final Path DOCS = Path.of(System.getProperty("thalamus.root"), "docs");

  private static JsonNode schema() throws Exception {
    return new ObjectMapper().readTree(Files.readString(DOCS.resolve("model.schema.json")));
  }

  @Test
  void itHasEachNameOfTheForm() throws Exception {
    Set<String> names = new TreeSet<>();
    for (Field field : Form.class.getFields()) {
      if (field.getType() == String.class && !field.getName().equals("NAME")) {
        names.add((String) field.get(null));
      }
    }
    Set<String> described = new TreeSet<>();
    for (JsonNode properties : schema().findValues("properties")) {
      properties.fieldNames().forEachRemaining(described::add);
    }
    // The types of operands and operations have alternatives, of which findValues sees the outer.
    for (JsonNode other : schema().findValues("anyOf")) {
      for (JsonNode choice : other) {
        choice.path("properties").fieldNames().forEachRemaining(described::add);
      }
    }
    assertEquals(names, described);
    assertEquals(Form.VERSION, schema().at("/properties/thalamus/const").asInt());
    assertEquals(Form.MAX_GRAPHS, schema().at("/properties/graphs/maxItems").asInt());
  }

  @Test
  void itListsAllTypes() throws Exception {
    Map<String, List<String>> types =
        Map.of(
            "operand", Arrays.stream(OperandCode.values()).map(OperandCode::text).toList(),
            "operation", Arrays.stream(OperationCode.values()).map(OperationCode::text).toList());
    for (Map.Entry<String, List<String>> entry : types.entrySet()) {
      JsonNode listed = schema().at("/$defs/" + entry.getKey() + "/properties/type/anyOf/0/enum");
      assertEquals(
          Set.copyOf(entry.getValue()),
          Stream.iterate(0, i -> i < listed.size(), i -> i + 1)
              .map(i -> listed.get(i).asText())
              .collect(Collectors.toSet()));
    }
  }

  /** The example of the page has the names that the schema requires, and no others. */
  @Test
  void theExampleOfThePageIsOne() throws Exception {
    String page = Files.readString(DOCS.resolve("formats.md"));
    String example = page.split("```json\\n")[1].split("```")[0];
    assertConforms(schema(), schema(), new ObjectMapper().readTree(example), "the example");
  }

  private static void assertConforms(JsonNode root, JsonNode schema, JsonNode value, String where) {
    if (schema.has("$ref")) {
      assertConforms(root, root.at(schema.get("$ref").asText().substring(1)), value, where);
      return;
    }
    for (JsonNode required : schema.path("required")) {
      assertTrue(value.has(required.asText()), where + " has no " + required);
    }
    for (JsonNode element : schema.has("items") ? value : List.<JsonNode>of()) {
      assertConforms(root, schema.get("items"), element, where + " element");
    }
    for (Map.Entry<String, JsonNode> member :
        value.isObject() ? value.properties() : Set.<Map.Entry<String, JsonNode>>of()) {
      if (schema.has("properties")) {
        JsonNode known = schema.get("properties").get(member.getKey());
        assertTrue(known != null, where + " has " + member.getKey());
        assertConforms(root, known, member.getValue(), where + "." + member.getKey());
      }
    }
  }
}
