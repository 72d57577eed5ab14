// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.vectors.ConformanceData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The signatures against tables made from NNAPI's documentation and AOSP's test specifications,
 * which lie beside the vectors, and the rules of their generic check.
 */
class SignatureTest {
  private static final Map<String, OperandCode> BRIEF =
      Map.of(
          "F32", OperandCode.TENSOR_FLOAT32,
          "F16", OperandCode.TENSOR_FLOAT16,
          "I32", OperandCode.TENSOR_INT32,
          "B8", OperandCode.TENSOR_BOOL8,
          "Q8A", OperandCode.TENSOR_QUANT8_ASYMM,
          "Q8AS", OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private static Signature signature(OperationType type) {
    return OperationCatalog.standard().find(type).orElseThrow().signature();
  }

  private static OperandView operand(OperandCode type) {
    return new OperandView(type, Shape.NONE, Quantization.NONE, false, Optional.empty());
  }

  private static OperationView view(OperationType type, List<OperandView> inputs, int outputs) {
    OperandView output = operand(OperandCode.TENSOR_FLOAT32);
    return new OperationView(
        type, inputs, IntStream.range(0, outputs).mapToObj(_ -> output).toList());
  }

  /** The combinations of types in AOSP's tests are taken, and no later than these use them. */
  @Test
  void everyCombinationOfTypesInTheTestsIsTaken() throws IOException {
    List<String> wrong = new ArrayList<>();
    int checked = 0;
    for (Map.Entry<String, Map<String, Set<String>>> row : table("signatures.json").entrySet()) {
      Optional<OperationCode> operation = code(row.getKey());
      if (operation.isEmpty()) {
        continue;
      }
      for (Map.Entry<String, Set<String>> combination : row.getValue().entrySet()) {
        Optional<String> level =
            combination.getValue().stream()
                .filter(name -> name.matches("V1_[0-3]"))
                .sorted()
                .findFirst();
        if (level.isPresent()) {
          checked++;
          String found = level(operation.get(), combination.getKey());
          if (found.compareTo(level.get()) > 0) {
            wrong.add(row.getKey() + combination.getKey() + " of " + level.get() + ": " + found);
          }
        }
      }
    }
    assertTrue(checked > 500, () -> "only a few combinations");
    assertEquals(List.of(), wrong);
  }

  /** The least level of a combination of types such as {@code (T_INT32,BOOL)->(T_INT32)}. */
  private static String level(OperationCode operation, String combination) {
    String[] sides = combination.split("->");
    OperationView view = new OperationView(operation, operands(sides[0]), operands(sides[1]));
    Signature signature = signature(operation);
    Check check = new Check(signature.since());
    try {
      signature.checkTypes(view, signature.inputs(view), signature.outputs(view), check);
      return check.level().name();
    } catch (ValidationException e) {
      return e.getMessage();
    }
  }

  private static List<OperandView> operands(String list) {
    return Stream.of(list.substring(1, list.length() - 1).split(","))
        .map(
            name -> {
              String type = name.replace("?", "").replaceFirst("^T_", "TENSOR_");
              return operand(OperandCode.valueOf(type));
            })
        .toList();
  }

  /** Follows NNAPI's documentation on data types, ranks, numbers of arguments and levels. */
  @Test
  void typesRanksAndLevelsAreThoseOfTheDocumentation() throws IOException {
    List<String> wrong = new ArrayList<>();
    int types = 0;
    for (Map.Entry<String, Map<String, Set<String>>> row : table("operations.json").entrySet()) {
      Optional<OperationCode> operation = code(row.getKey());
      if (operation.isEmpty()) {
        continue;
      }
      Signature signature = signature(operation.get());
      Map<String, Set<String>> facts = row.getValue();
      FeatureLevel since = level(only(facts.get("introducedIn")));
      compare(row.getKey() + " since", since, signature.since(), wrong);
      String list = only(facts.get("types"));
      if (list.matches("\\w+(@1.\\d)?(, \\w+(@1.\\d)?)*")
          && BRIEF.containsKey(list.split("[@,]")[0])) {
        types++;
        compare(row.getKey() + " types", levels(list, since), levels(signature), wrong);
      }
      String rank = only(facts.get("rank"));
      Optional<Argument> data =
          signature.inputForms().getFirst().stream().filter(a -> a.data().isPresent()).findFirst();
      if (data.isPresent() && rank.matches("(up to )?\\d.*")) {
        int most = Integer.parseInt(rank.replaceAll("up to ", "").substring(0, 1));
        compare(row.getKey() + " most dimensions", most, data.get().mostRank(), wrong);
      }
      for (String count : facts.get("inputCountsSeen")) {
        OperandView any = operand(OperandCode.TENSOR_FLOAT32);
        List<OperandView> inputs =
            IntStream.range(0, Integer.parseInt(count)).mapToObj(_ -> any).toList();
        compare(
            row.getKey() + " inputs",
            inputs.size(),
            signature.inputs(view(operation.get(), inputs, 1)).size(),
            wrong);
      }
      for (String count : facts.get("outputCountsSeen")) {
        int outputs = Integer.parseInt(count);
        compare(
            row.getKey() + " outputs",
            outputs,
            signature.outputs(view(operation.get(), List.of(), outputs)).size(),
            wrong);
      }
    }
    assertTrue(types > 60, "only " + types + " lists of types are understood");
    assertEquals(List.of(), wrong);
  }

  private static void compare(String what, Object expected, Object actual, List<String> wrong) {
    if (!expected.equals(actual)) {
      wrong.add(what + ": " + expected + ", but " + actual);
    }
  }

  private static Map<OperandCode, FeatureLevel> levels(String list, FeatureLevel since) {
    Map<OperandCode, FeatureLevel> levels = new TreeMap<>();
    for (String entry : list.split(", ")) {
      String[] parts = entry.split("@");
      levels.put(
          BRIEF.get(parts[0]), FeatureLevel.max(since, parts.length > 1 ? level(parts[1]) : since));
    }
    return levels;
  }

  private static Map<OperandCode, FeatureLevel> levels(Signature signature) {
    Map<OperandCode, FeatureLevel> levels = new TreeMap<>();
    for (OperandCode type : signature.types().types()) {
      levels.put(type, FeatureLevel.max(signature.since(), signature.types().level(type)));
    }
    return levels;
  }

  private static FeatureLevel level(String version) {
    return FeatureLevel.valueOf("V" + version.replace('.', '_'));
  }

  private static String only(Set<String> values) {
    return values.isEmpty() ? "" : values.iterator().next();
  }

  private static Optional<OperationCode> code(String name) {
    return Arrays.stream(OperationCode.values())
        .filter(code -> code.name().equals(name))
        .findFirst();
  }

  /** A table of three floors: the innermost names or values are kept as text. */
  private static Map<String, Map<String, Set<String>>> table(String name) throws IOException {
    Optional<Path> file =
        ConformanceData.vectors().map(path -> path.resolveSibling("reference").resolve(name));
    assumeTrue(file.isPresent() && Files.exists(file.get()), "there is no table " + name);
    Map<String, Map<String, Set<String>>> rows = new TreeMap<>();
    try (JsonParser json = new JsonFactory().createParser(file.get().toFile())) {
      json.nextToken();
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        Map<String, Set<String>> row = new TreeMap<>();
        rows.put(json.currentName(), row);
        json.nextToken();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
          Set<String> values = new HashSet<>();
          row.put(json.currentName(), values);
          JsonToken first = json.nextToken();
          if (first.isScalarValue()) {
            values.add(json.getText());
          }
          for (JsonToken next = first;
              first.isStructStart() && !(next = json.nextToken()).isStructEnd(); ) {
            if (next == JsonToken.FIELD_NAME || first == JsonToken.START_ARRAY) {
              values.add(json.getText());
            }
          }
        }
      }
    }
    return rows;
  }

  @Test
  void argumentsHaveNamesOfTheirOwn() {
    for (OperationType type : OperationCatalog.standard().types()) {
      for (List<List<Argument>> forms :
          List.of(signature(type).inputForms(), signature(type).outputForms())) {
        assertFalse(forms.isEmpty(), type.text());
        for (List<Argument> form : forms) {
          List<String> names = form.stream().map(Argument::name).toList();
          assertEquals(names.size(), Set.copyOf(names).size(), () -> type.text() + names);
        }
      }
    }
  }

  /** Of two forms with as many inputs, the one that fits the types is what is checked. */
  @Test
  void theFormThatFitsIsChecked() throws ValidationException {
    Argument input = data("input", TypeLevels.floats(FeatureLevel.V1_0));
    Signature signature =
        Signature.since(FeatureLevel.V1_0)
            .inputs(
                input,
                argument("scheme", OperandCode.INT32),
                argument("layout", OperandCode.BOOL).from(FeatureLevel.V1_2))
            .inputs(
                input, argument("left", OperandCode.INT32), argument("right", OperandCode.INT32))
            .outputs(argument("output", ArgumentType.T));
    OperandCode floats = OperandCode.TENSOR_FLOAT32;
    assertEquals(FeatureLevel.V1_0, level(signature, floats, OperandCode.INT32));
    assertEquals(FeatureLevel.V1_2, level(signature, floats, OperandCode.INT32, OperandCode.BOOL));
    assertEquals(FeatureLevel.V1_0, level(signature, floats, OperandCode.INT32, OperandCode.INT32));
    assertEquals("it has 1 inputs, but takes 2 or 3", refusal(signature, floats));
    assertEquals(
        "input 1 is BOOL, but must be INT32",
        refusal(signature, floats, OperandCode.BOOL, OperandCode.BOOL));
  }

  private static FeatureLevel level(Signature signature, OperandCode... inputs)
      throws ValidationException {
    Check check = new Check(signature.since());
    List<OperandView> operands = Stream.of(inputs).map(type -> operand(type)).toList();
    signature.check(view(OperationCode.ADD, operands, 1), check);
    return check.level();
  }

  private static String refusal(Signature signature, OperandCode... inputs) {
    return assertThrows(ValidationException.class, () -> level(signature, inputs)).getMessage();
  }
}
