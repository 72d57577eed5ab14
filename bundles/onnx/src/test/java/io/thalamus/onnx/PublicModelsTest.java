// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.tck.junit.PublicModel;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Trained networks, compared with what independent engines computed. */
class PublicModelsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {"mnist8_onnx", "squeezenet_fp16_onnx", "vittrack_onnx", "yolox_nano_onnx"})
  void computesAsOtherEngines(String name) throws Exception {
    PublicModel.assertRight(new CpuDevice("1.0.0"), name, new OnnxReader(), false);
  }
}
