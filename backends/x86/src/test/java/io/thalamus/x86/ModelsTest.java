// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.tck.junit.PublicModel;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.x86.asm.Length;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Trained public models that the device runs as a whole. */
class ModelsTest {
  @ParameterizedTest
  @CsvSource({
    "mobilenet_v2_100_224_uint8, YMM",
    "mobilenet_v2_100_224_uint8, ZMM",
    "resnet8_cifar_int8, YMM",
    "resnet8_cifar_int8, ZMM",
    "kws_dscnn_int8, YMM",
    "kws_dscnn_int8, ZMM",
    "ad01_autoencoder_int8, YMM",
    "ad01_autoencoder_int8, ZMM"
  })
  void computesAsTheEnginesDo(String name, Length length) throws Exception {
    try (X86Device device = Lengths.device(length)) {
      PublicModel.assertRight(device, name, new TfliteReader(), true);
    }
  }
}
