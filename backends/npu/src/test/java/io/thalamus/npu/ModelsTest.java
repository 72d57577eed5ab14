// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.tck.junit.PublicModel;
import io.thalamus.tflite.TfliteReader;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Trained public models that the device runs as a whole, equal to the reference kernels. */
class ModelsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "mobilenet_v2_100_224_uint8",
        "resnet8_cifar_int8",
        "kws_dscnn_int8",
        "ad01_autoencoder_int8",
      })
  void computesAsTheEnginesDo(String name) throws Exception {
    try (NpuDevice device = new NpuDevice("1.0.0", NpuConfig.standard().withSearch(16, true, 1))) {
      PublicModel.assertRight(device, name, new TfliteReader(), true);
    }
  }
}
