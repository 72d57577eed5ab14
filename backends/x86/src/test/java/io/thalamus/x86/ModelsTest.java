// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.tck.junit.PublicModel;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.x86.asm.Level;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Trained public models that the device runs as a whole. */
class ModelsTest {
  private static final List<String> MODELS =
      List.of(
          "mobilenet_v2_100_224_uint8",
          "resnet8_cifar_int8",
          "kws_dscnn_int8",
          "ad01_autoencoder_int8");

  private static final List<String> FLOAT_MODELS =
      List.of(
          "ad01_autoencoder_float",
          "deeplabv3_257_float",
          "kws_dscnn_float",
          "kwt1",
          "mediapipe_face_front",
          "mnist_lstm_float",
          "mobilenet_v1_025_224_float",
          "resnet8_cifar_float");

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void computesNearTheEngines(Level level) throws Exception {
    try (X86Device device = Levels.device(level)) {
      for (String model : FLOAT_MODELS) {
        PublicModel.assertRight(device, model, new TfliteReader(), false);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void computesAsTheEnginesDo(Level level) throws Exception {
    try (X86Device device = Levels.device(level)) {
      for (String model : MODELS) {
        PublicModel.assertRight(device, model, new TfliteReader(), true);
      }
    }
  }
}
