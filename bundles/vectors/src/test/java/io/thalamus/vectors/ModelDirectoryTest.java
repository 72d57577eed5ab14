// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.model.Shape;
import io.thalamus.vectors.ModelCase.Difference;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelDirectoryTest {
  private static final String META =
      """
      {"name": "own", "format": "tflite", "file": "model.tflite", "ops": {"ADD": 2},
       "cases": [
        {"case": "rand", "input_note": "noise", "sample_file": null,
         "inputs": [{"index": 0, "file": "input_rand_0.bin", "dtype": "INT8", "shape": [1, 3]}],
         "outputs": [{"index": 0, "file": "output_rand_0.bin", "dtype": "INT8", "shape": [3],
           "max_abs": 7, "spread": {"opt": {"max_abs_diff": 0.0}, "xnn": {"max_abs_diff": 2}}}]},
        {"case": "seq", "steps": 2,
         "inputs": [
          {"index": 0, "file": "input_seq_0.bin", "dtype": "UINT8", "shape": [2], "steps": 2},
          {"index": 1, "file": "input_seq_1.bin", "dtype": "FLOAT", "shape": [],
           "role": "initial state; from step 1 on it is output 1 of the step before"}],
         "outputs": [{"index": 0, "file": "output_seq_0.bin", "dtype": "FLOAT32", "shape": [1],
           "max_abs": 20, "steps": 2, "spread": {"all": {"max_abs_diff": 1e-4}}}]}]}
      """;

  @TempDir Path root;
  private Path folder;

  @BeforeEach
  void fill() throws IOException {
    folder = Files.createDirectory(root.resolve("own"));
    Files.writeString(folder.resolve("meta.json"), META);
    Files.write(folder.resolve("output_rand_0.bin"), new byte[] {-1, 0, 7});
    Files.write(folder.resolve("input_seq_0.bin"), new byte[] {1, 2, 3, 4});
    Files.write(folder.resolve("input_seq_1.bin"), floats(0.5f));
    Files.write(folder.resolve("output_seq_0.bin"), floats(10, -20));
  }

  private static byte[] floats(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return bytes.array();
  }

  @Test
  void readsCasesAndSteps() throws Exception {
    ModelDirectory model = ModelDirectory.readAll(root).getFirst();

    assertEquals("own", model.name());
    assertEquals(folder.resolve("model.tflite"), model.model());
    assertEquals(Map.of("ADD", 2), model.operations());
    assertEquals(List.of("rand", "seq"), model.cases().stream().map(ModelCase::name).toList());
    ModelCase steps = model.findCase("seq").orElseThrow();
    assertEquals(2, steps.steps());
    assertArrayEquals(new byte[] {3, 4}, steps.inputs().get(0).tensor().read(1));
    assertEquals(OptionalInt.empty(), steps.inputs().get(0).stateOf());
    assertEquals(OptionalInt.of(1), steps.inputs().get(1).stateOf());
    assertEquals(Shape.NONE, steps.inputs().get(1).tensor().shape());
    assertArrayEquals(floats(0.5f), steps.inputs().get(1).tensor().read(1));
    assertThrows(IndexOutOfBoundsException.class, () -> steps.inputs().get(0).tensor().read(2));
  }

  /** 1e-4 * 20 + 10 * 1e-4 is 0.003; step 1 holds -20. */
  @ParameterizedTest
  @CsvSource({"-20, true", "-19.9971, true", "-20.0029, true", "-19.9969, false", "NaN, false"})
  void judgesFloatsByMaximumAndSpread(float actual, boolean accepted) throws Exception {
    ModelCase.Output output =
        ModelDirectory.read(folder).findCase("seq").orElseThrow().outputs().getFirst();

    Difference difference = output.compare(1, MemorySegment.ofArray(floats(actual)));

    assertEquals(0.003, output.tolerance(), 1e-12);
    assertEquals(accepted, difference.isAccepted(), difference.text());
  }

  @Test
  void judgesIntegersBySpread() throws Exception {
    ModelCase.Output output = ModelDirectory.read(folder).cases().getFirst().outputs().getFirst();

    Difference equal = output.compare(0, MemorySegment.ofArray(new byte[] {-1, 0, 7}));
    assertTrue(equal.isEqual());
    Difference near = output.compare(0, MemorySegment.ofArray(new byte[] {-1, 1, 5}));
    assertTrue(near.isAccepted());
    assertFalse(near.isEqual());
    Difference far = output.compare(0, MemorySegment.ofArray(new byte[] {2, 1, 7}));
    assertFalse(far.isAccepted());
    assertEquals(
        "2 of 3 differ, at most by 3.0 (allowed 2.0): element 0 is 2.0, expected -1.0", far.text());
    Difference other = output.compare(0, MemorySegment.ofArray(new byte[] {2}));
    assertFalse(other.isAccepted());
    assertEquals("1 bytes, expected 3 INT8 = 3", other.text());
  }

  @Test
  void refusesFilesOfAnotherSize() throws Exception {
    Files.write(folder.resolve("input_seq_0.bin"), new byte[3]);
    StoredTensor tensor =
        ModelDirectory.read(folder).findCase("seq").orElseThrow().inputs().getFirst().tensor();

    IOException e = assertThrows(IOException.class, () -> tensor.read(0));
    assertTrue(e.getMessage().contains("has 3 bytes, but 2 x 2 UINT8 are 4"), e.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"dtype\": \"INT8\"   | \"dtype\": \"INT4\"    | dtype: there is no data type 'INT4'",
        "\"max_abs\": 7,       | ''                     | outputs[0] has no 'max_abs'",
        "\"shape\": [1, 3]     | \"shape\": [1, -3]     | a dimension is negative",
        "\"shape\": [1, 3]     | \"shape\": \"1x3\"     | shape is not an array",
        "it is output 1        | it is input 1          | unknown role",
        "\"steps\": 2,         | \"steps\": 2.5,        | steps is not a whole number",
        "{\"name\": \"own\"    | [\"name\", \"own\"     | no valid JSON"
      })
  void namesThePlaceOfDamage(String good, String bad, String reason) throws Exception {
    assertTrue(META.contains(good));
    Files.writeString(folder.resolve("meta.json"), META.replace(good, bad));

    VectorFormatException e =
        assertThrows(VectorFormatException.class, () -> ModelDirectory.read(folder));

    assertTrue(e.getMessage().contains(reason), e.getMessage());
  }

  /** The stored files fit their description: sizes, and the largest absolute value. */
  @Test
  void readsTheSharedModels() throws Exception {
    Optional<Path> models = ConformanceData.models();
    assumeTrue(models.isPresent(), "no public models: set -Dthalamus.shared");
    System.out.println("public models of " + models.get());
    int cases = 0;
    for (ModelDirectory model : ModelDirectory.readAll(models.get())) {
      assertTrue(Files.isRegularFile(model.model()), model.name());
      for (ModelCase each : model.cases()) {
        cases++;
        for (ModelCase.Input input : each.inputs()) {
          input.tensor().read();
        }
        for (ModelCase.Output output : each.outputs()) {
          String what = model.name() + " " + each.name();
          assertEquals(each.steps(), output.tensor().steps(), what);
          assertEquals(output.maxAbs(), maxAbs(output.tensor()), 1e-6 * output.maxAbs(), what);
        }
      }
    }
    System.out.println(cases + " cases");
    assertTrue(cases > 0);
  }

  private static double maxAbs(StoredTensor tensor) throws IOException {
    MemorySegment bytes = MemorySegment.ofArray(tensor.read());
    double max = 0;
    for (long i = 0; i < bytes.byteSize() / tensor.type().size(); i++) {
      max = Math.max(max, Math.abs(tensor.type().getDouble(bytes, i)));
    }
    return max;
  }
}
