// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** Results whose sizes only an execution tells, and functions of the extension. */
class SearchTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private void assertConverts(String expected) throws ModelFormatException {
    assertEquals(expected, ModelText.of(TestFiles.read(file).model()));
  }

  /** The file states one row; the operation gives what it finds. */
  @Test
  void theNumberOfPlacesIsOpen() throws ModelFormatException {
    int x = file.floats("x", 2, 3);
    int y = file.tensor("y", TensorType.INT64, null, 1, 2);
    file.operator(BuiltinOperator.WHERE, new int[] {x}, y).graph(new int[] {x}, y);
    Model model = TestFiles.read(file).model();
    assertEquals(Shape.of(0, 2), model.main().output(0).shape());
    assertEquals(
        "io.thalamus/NON_ZERO(x, false) -> y\nio.thalamus/CAST(y) -> y", ModelText.of(model));
  }

  @Test
  void anglesAndBitsAreOperationsOfTheExtension() throws ModelFormatException {
    int x = file.floats("x", 2);
    int y = file.floats("y", 2);
    file.operator(BuiltinOperator.ATAN2, new int[] {x, x}, y).graph(new int[] {x}, y);
    assertConverts("io.thalamus/ATAN2(x, x) -> y");
  }
}
