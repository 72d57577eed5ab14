// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import java.io.File;
import java.nio.FloatBuffer;
import java.util.Map;
import javax.imageio.ImageIO;

/** The ten lines of the README with ONNX Runtime. */
public final class OnnxRuntimeDigits {
  private OnnxRuntimeDigits() {}

  /** Says the digit on {@code digit-3.png}. */
  public static void main(String[] arguments) throws Exception {
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    try (var session = environment.createSession("digits.onnx");
        var picture =
            OnnxTensor.createTensor(
                environment,
                FloatBuffer.wrap(Pixels.of(ImageIO.read(new File("digit-3.png")))),
                new long[] {1, 1, Pixels.SIDE, Pixels.SIDE});
        var answer = session.run(Map.of(session.getInputNames().iterator().next(), picture))) {
      System.out.println(Pixels.best(((float[][]) answer.get(0).getValue())[0]));
    }
  }
}
