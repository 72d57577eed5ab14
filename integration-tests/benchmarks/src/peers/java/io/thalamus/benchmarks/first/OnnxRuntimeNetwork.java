// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.TensorInfo;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Map;

/** The program of {@link Opening} with ONNX Runtime. */
public final class OnnxRuntimeNetwork {
  private OnnxRuntimeNetwork() {}

  /**
   * Opens a network and runs it.
   *
   * @param arguments the file, and for how many seconds
   */
  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime();
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    long started = System.nanoTime();
    try (var session = environment.createSession(arguments[0])) {
      long opened = System.nanoTime();
      String name = session.getInputNames().iterator().next();
      long[] shape = ((TensorInfo) session.getInputInfo().get(name).getInfo()).getShape();
      float[] numbers = new float[(int) Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
      try (var input = OnnxTensor.createTensor(environment, FloatBuffer.wrap(numbers), shape)) {
        long begin = System.nanoTime();
        session.run(Map.of(name, input)).close();
        long end = System.nanoTime();
        System.out.printf("%d %d %d%n", started - start, opened - started, end - begin);
        double seconds = Double.parseDouble(arguments[1]);
        while (System.nanoTime() - end < seconds * 1e9) {
          long before = System.nanoTime();
          session.run(Map.of(name, input)).close();
          System.out.println(System.nanoTime() - before);
        }
      }
    }
  }
}
