// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.repository.zoo.Criteria;
import ai.djl.translate.NoopTranslator;
import java.io.File;
import java.nio.file.Path;
import javax.imageio.ImageIO;

/** The ten lines of the README with DJL over its engine for ONNX Runtime. */
public final class DjlDigits {
  private DjlDigits() {}

  /** Says the digit on {@code digit-3.png}. */
  public static void main(String[] arguments) throws Exception {
    Criteria<NDList, NDList> criteria =
        Criteria.builder()
            .setTypes(NDList.class, NDList.class)
            .optModelPath(Path.of("digits.onnx"))
            .optEngine("OnnxRuntime")
            .optTranslator(new NoopTranslator())
            .build();
    try (var model = criteria.loadModel();
        var predictor = model.newPredictor();
        var manager = model.getNDManager().newSubManager()) {
      float[] pixels = Pixels.of(ImageIO.read(new File("digit-3.png")));
      var picture = manager.create(pixels, new Shape(1, 1, Pixels.SIDE, Pixels.SIDE));
      System.out.println(
          Pixels.best(predictor.predict(new NDList(picture)).getFirst().toFloatArray()));
    }
  }
}
