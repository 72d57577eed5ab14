// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFormatException;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** The graphs that composites stand for take their place. */
class CompositesTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  /** The main graph: y = composite(composite(x)), both of graph 1. */
  private void twice() {
    int x = file.floats("x", 2);
    int t = file.floats("t", 2);
    int y = file.floats("y", 2);
    file.composite(1, new int[] {x}, t).composite(1, new int[] {t}, y).graph(new int[] {x}, y);
  }

  private Model read() throws ModelFormatException {
    try (SharedMemory memory = TestFiles.memory(file.build())) {
      return new TfliteReader().read(memory).model();
    }
  }

  private String refusal() {
    return assertThrows(ModelFormatException.class, this::read).getMessage();
  }

  @Test
  void theirOperatorsTakeTheirPlace() throws Exception {
    twice();
    int w = file.constant("w", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(2, 3), 2);
    int a = file.floats("a", 2);
    int s = file.floats("s", 2);
    int b = file.floats("b", 2);
    file.operator(BuiltinOperator.MUL, new int[] {a, w}, s)
        .composite(2, new int[] {s}, b)
        .graph(new int[] {a}, b);
    int c = file.floats("c", 2);
    int d = file.floats("d", 2);
    file.operator(BuiltinOperator.NEG, new int[] {c}, d).graph(new int[] {c}, d);
    assertEquals(
        "MUL(x, w, 0) -> s; NEG(s) -> t; MUL(t, w, 0) -> s; NEG(s) -> y",
        ModelText.of(read()).replace("\n", "; "));
  }

  @Test
  void oneWithinItselfIsRefused() {
    twice();
    int a = file.floats("a", 2);
    int b = file.floats("b", 2);
    file.composite(1, new int[] {a}, b).graph(new int[] {a}, b);
    assertEquals(
        "the file is damaged: STABLEHLO_COMPOSITE, operator 0, is nested too deeply, or within"
            + " itself",
        refusal());
  }

  /** Each graph stands twice in the one before: a small file, and a billion operators. */
  @Test
  void whatGrowsWithoutEndIsRefused() {
    twice();
    for (int graph = 2; graph < 30; graph++) {
      int a = file.floats("a", 2);
      int t = file.floats("t", 2);
      int b = file.floats("b", 2);
      file.composite(graph, new int[] {a}, t)
          .composite(graph, new int[] {t}, b)
          .graph(new int[] {a}, b);
    }
    int a = file.floats("a", 2);
    int b = file.floats("b", 2);
    file.operator(BuiltinOperator.NEG, new int[] {a}, b).graph(new int[] {a}, b);
    assertEquals(
        "the file is damaged: up to a composite it describes more than it can hold", refusal());
  }

  @Test
  void oneThatDoesNotFitItsGraphIsRefused() {
    twice();
    int a = file.floats("a", 2);
    int b = file.floats("b", 2);
    int c = file.floats("c", 2);
    file.operator(BuiltinOperator.MUL, new int[] {a, b}, c).graph(new int[] {a, b}, c);
    assertEquals(
        "the file is damaged: STABLEHLO_COMPOSITE, operator 0, does not fit its graph", refusal());
  }

  @Test
  void oneWithoutAGraphIsRefused() {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.composite(7, new int[] {x}, y).graph(new int[] {x}, y);
    assertEquals(
        "the file is damaged: STABLEHLO_COMPOSITE, operator 0, stands for graph 7", refusal());
  }
}
