// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.subgraph;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Files in which each dimension is open, as exporters write them that are told so. */
class NeededSizesTest {
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private void assertReads(Shape... expected) throws ModelFormatException {
    Subgraph graph = TestFiles.read(file.build()).main();
    List<Shape> found =
        graph.inputIndexes().stream().map(index -> graph.operands().get(index).shape()).toList();
    assertEquals(List.of(expected), found);
  }

  private OnnxFileBuilder weights(String name, long... dims) {
    int count = 1;
    for (long dim : dims) {
      count *= (int) dim;
    }
    return file.floats(name, dims, new float[count]);
  }

  /** Through a function of each element, and a turned matrix. */
  @Test
  void theColumnsOfAProduct() throws Exception {
    file.input("x", FLOAT, -1, -1).node("Relu", List.of("x"), "r");
    weights("w", 3, 5).node("Transpose", List.of("w"), "t").node("MatMul", List.of("r", "t"), "m");
    weights("b", 3).node("Add", List.of("m", "b"), "y").output("y", FLOAT, -1, -1);
    assertReads(Shape.of(1, 5));
  }

  /** Of the places that a window takes it says nothing; the usual sizes are tried. */
  @Test
  void channelsAndAWindow() throws Exception {
    file.input("x", FLOAT, -1, -1, -1);
    weights("w", 4, 3, 6)
        .node("Conv", List.of("x", "w"), "y", integer("group", 2), ints("pads", 1, 1))
        .output("y", FLOAT, -1, -1, -1);
    assertReads(Shape.of(1, 6, 64));
  }

  @Test
  void theStatesOfARecurrentLayer() throws Exception {
    file.input("x", FLOAT, -1, -1, -1).input("h", FLOAT, -1, -1, -1);
    weights("w", 1, 6, 3);
    weights("r", 1, 6, 2)
        .node("GRU", List.of("x", "w", "r", "", "", "h"), "y", integer("hidden_size", 2))
        .output("y", FLOAT, -1, -1, -1, -1);
    assertReads(Shape.of(1, 1, 3), Shape.of(1, 1, 2));
  }

  @Test
  void twoInputsOfOneNameAreNoModel() {
    file.input("x", FLOAT, -1, -1, -1).input("x", FLOAT, -1);
    file.node("Relu", List.of("x"), "y").output("y", FLOAT, -1);
    assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
  }

  /** What is joined has the same columns; a place says nothing of how many there are. */
  @Test
  void placesAndParts() throws Exception {
    file.input("x", FLOAT, -1, -1).input("k", FLOAT, -1, -1);
    weights("c", 2, 4)
        .node("Concat", List.of("x", "c"), "j", integer("axis", 0))
        .integers("third", new long[] {1}, 2)
        .node("Gather", List.of("k", "third"), "g", integer("axis", 1))
        .node("ReduceMean", List.of("j"), "m", ints("axes", 1))
        .node("Add", List.of("m", "g"), "y")
        .output("y", FLOAT, -1, -1);
    assertReads(Shape.of(1, 4), Shape.of(1, 64));
  }

  @Test
  void whatBranchesNeed() throws Exception {
    file.input("x", FLOAT, -1, -1).input("n", INT64, 1);
    weights("a", 3, 2);
    weights("b", 3, 2);
    file.integers("zero", new long[] {1}, 0).node("Greater", List.of("n", "zero"), "is");
    OnnxFileBuilder then = new OnnxFileBuilder().node("MatMul", List.of("x", "a"), "p");
    OnnxFileBuilder otherwise = new OnnxFileBuilder().node("MatMul", List.of("x", "b"), "q");
    file.node(
            "If",
            List.of("is"),
            "y",
            subgraph("then_branch", then.output("p", FLOAT, -1, 2)),
            subgraph("else_branch", otherwise.output("q", FLOAT, -1, 2)))
        .output("y", FLOAT, -1, 2);
    assertReads(Shape.of(1, 3), Shape.of(1));
  }
}
