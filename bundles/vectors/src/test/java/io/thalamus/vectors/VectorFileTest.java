// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class VectorFileTest {
  @TempDir Path folder;

  @Test
  void readsEveryKey() throws Exception {
    VectorFile file = Cases.file("loop.json");

    assertEquals("loop", file.spec());
    assertEquals("own", file.specVersion());
    assertEquals(Optional.of(new VectorFile.Source("none", "none", "none")), file.source());
    Example example = file.examples().getFirst();
    assertEquals("while_forever", example.name());
    assertEquals(Optional.of("forever"), example.modelName());
    assertEquals(Optional.of("first"), example.exampleName());
    assertEquals(Optional.of("V1_3"), example.halVersion());
    assertTrue(example.isRelaxed());
    assertTrue(example.expectFailure());
    assertTrue(example.isInfiniteLoop());
    assertEquals(2, example.referenced().size());
    assertEquals(
        new RawOperation("WHILE", List.of(0, 1, 2), List.of(3)),
        example.main().operations().getFirst());
    assertEquals(
        RawOperand.of("state", "TENSOR_BOOL8", RawOperand.Dims.of(1), "SUBGRAPH_INPUT", 1),
        example.main().operands().get(2));
    assertEquals(List.of(new Example.Input(2, Values.of(1))), example.inputs());
  }

  @Test
  void readsRunsAndAPoolBehindItsUses() throws Exception {
    Example example = Cases.example("add_float_large_constant");

    assertEquals(Values.of(new double[40]), example.inputs().getFirst().values());
    double[] expected = new double[40];
    Arrays.fill(expected, 1.5);
    expected[39] = -4;
    assertEquals(Values.of(expected), example.expectedOutputs().getFirst().values());
    assertEquals(Optional.of(Values.of(expected)), example.main().operands().get(2).values());
  }

  @Test
  void keepsMinusZero() throws Exception {
    Values values = Cases.addFloat().main().operands().get(1).values().orElseThrow();

    assertEquals(Values.of(0.1, -2, 300, 0, -0.0, 1), values);
  }

  @ParameterizedTest
  @ValueSource(strings = {"elementwise.json", "loop.json"})
  void writesWhatItReads(String name) throws Exception {
    VectorFile file = Cases.file(name);
    Path copy = folder.resolve(name);

    file.write(copy);

    assertEquals(file, VectorFile.read(copy));
  }

  @Test
  void writesValuesThatJsonHasNoNumbersFor() throws Exception {
    Example example = Cases.addFloat();
    Values awkward =
        Values.of(
            Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, -0.0, 1e-45, 1e30);
    Example changed =
        example.withData(List.of(new Example.Input(0, awkward)), example.expectedOutputs());
    VectorFile file = new VectorFile("own", "own", Optional.empty(), List.of(changed));

    String text = VectorFileWriter.text(file);

    assertTrue(
        text.contains("\"values\": [\"NaN\",\"Infinity\",\"-Infinity\",-0.0,1.0E-45,1.0E30]"),
        text);
    assertEquals(file, VectorFileReader.read(text.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void writesFloatsShort() throws Exception {
    Example example = Cases.addFloat();
    Values floats = Values.of(0.1f, 1 / 3f, Math.nextUp(1f), 0, 0, 0);
    Example changed =
        example.withData(List.of(new Example.Input(0, floats)), example.expectedOutputs());
    VectorFile file = new VectorFile("own", "own", Optional.empty(), List.of(changed));

    String text = VectorFileWriter.text(file);

    assertTrue(text.contains("[0.1,0.33333334,1.0000001,0,0,0]"), text);
  }

  @Test
  void poolsAndCountsWhatIsLong() throws Exception {
    Example example = Cases.addFloat();
    double[] different = new double[100];
    Arrays.setAll(different, i -> i);
    Values twice = Values.of(different);
    Values same = Values.of(new double[100]);
    Example changed =
        example.withData(
            List.of(new Example.Input(0, twice), new Example.Input(0, twice)),
            List.of(new Example.ExpectedOutput(3, false, same)));
    VectorFile file = new VectorFile("own", "own", Optional.empty(), List.of(changed));

    String text = VectorFileWriter.text(file);

    assertTrue(text.contains("{\"operand\": 0, \"values\": {\"pool\": \"p0\"}}"), text);
    assertTrue(text.contains("{\"runs\": [[0,100]]}"), text);
    assertEquals(file, VectorFileReader.read(text.getBytes(StandardCharsets.UTF_8)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "truncated.json     | no valid JSON | (line 4)",
        "unknown_key.json   | unknown key 'colour' in the file | (line 3)",
        "other_version.json | format 'nnapi-vectors-2' is not 'nnapi-vectors-1' | (line 1)",
        "text.json          | no valid JSON | (line 1)",
        "empty.json         | expected an object, found the end | (line 1)",
        "array.json         | expected an object, found an array | (line 1)"
      })
  void saysWhatIsWrongAndWhere(String name, String what, String where) {
    Path file = Cases.folder("damaged").resolve(name);

    VectorFormatException e =
        assertThrows(VectorFormatException.class, () -> VectorFile.read(file));

    assertTrue(e.getMessage().startsWith(name + ": "), e.getMessage());
    assertTrue(e.getMessage().contains(what), e.getMessage());
    assertTrue(e.getMessage().endsWith(where), e.getMessage());
    assertFalse(e.getMessage().contains("Source"), e.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"values\": [1, 2, 3, 4, 5, 6]   | \"values\": [1, \"two\"]            | a number",
        "\"values\": [1, 2, 3, 4, 5, 6]   | \"values\": {\"pool\": \"p9\"}      | no pool 'p9'",
        "\"values\": [1, 2, 3, 4, 5, 6]   | \"values\": {\"runs\": [[1, -1]]}   | a run of -1",
        "\"values\": [1, 2, 3, 4, 5, 6]   | \"values\": {\"runs\": [[1]]}       | whole number",
        "\"values\": [1, 2, 3, 4, 5, 6]   | \"values\": {}                      | 'pool' or 'runs'",
        "\"values\": [1, 2, 3, 4, 5, 6]   | \"value\": [1]                      | key 'value'",
        "\"dims\": [2, 3], \"lifetime\"   | \"dims\": [2.5], \"lifetime\"       | a whole number",
        "\"dims\": [2, 3], \"lifetime\"   | \"dims\": [9999999999], \"lifetime\"| out of range",
        "\"isRelaxed\": false             | \"isRelaxed\": 0                    | true or false",
        "\"name\": \"add_float\",         | ''                                  | has no 'name'",
        "\"inputIndexes\": [0],           | ''                                  | no 'inputIndexes'"
      })
  void refusesWhatDoesNotFitTheFormat(String good, String bad, String reason) throws Exception {
    String text = Files.readString(Cases.folder("cases").resolve("elementwise.json"));
    assertTrue(text.contains(good));

    VectorFormatException e =
        assertThrows(
            VectorFormatException.class,
            () ->
                VectorFileReader.read(
                    text.replaceFirst(
                            java.util.regex.Pattern.quote(good),
                            java.util.regex.Matcher.quoteReplacement(bad))
                        .getBytes(StandardCharsets.UTF_8)));

    assertTrue(e.getMessage().contains(reason), e.getMessage());
    assertFalse(e.getMessage().contains("\n"), e.getMessage());
  }
}
