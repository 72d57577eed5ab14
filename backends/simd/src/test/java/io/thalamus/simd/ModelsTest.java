// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.junit.PublicModel;
import io.thalamus.tflite.TfliteReader;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Trained public models that the device runs as a whole, before and after its kernels are warm. */
class ModelsTest {
  @ParameterizedTest
  @CsvSource({
    "mobilenet_v1_025_224_float, false",
    "mobilenet_v2_100_224_uint8, true",
    "resnet8_cifar_float, false",
    "resnet8_cifar_int8, true",
    "kws_dscnn_int8, true",
    "ad01_autoencoder_float, false",
    "ad01_autoencoder_int8, true",
  })
  void computesAsTheEnginesDo(String name, boolean isExact) throws Exception {
    for (WarmUp.Stage stage :
        new WarmUp.Stage[] {WarmUp.Stage.ALWAYS_WARM, WarmUp.Stage.ALWAYS_COLD}) {
      try (SimdDevice device = Twins.device("models", stage)) {
        PublicModel.assertRight(device, name, new TfliteReader(), isExact);
      }
    }
  }
}
