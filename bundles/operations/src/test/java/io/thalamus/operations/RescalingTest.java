// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import org.junit.jupiter.api.Test;

/** Signed and unsigned types are rescaled alike, and to the nearest. */
class RescalingTest {
  private static final float[] SCALES = {0.5f, 0.3f, 1, 0.007f, 3};

  private static OperandView operand(OperandCode type, float scale, int zeroPoint) {
    return OperandView.of(
        new Operand(
            type, Shape.of(1), Quantization.of(scale, zeroPoint), Lifetime.TEMPORARY_VARIABLE, ""));
  }

  @Test
  void allStoredValues() {
    for (float from : SCALES) {
      for (float to : SCALES) {
        OperandView input = operand(TENSOR_QUANT8_ASYMM, from, 77);
        OperandView output = operand(TENSOR_QUANT8_ASYMM, to, 130);
        OperandView signedInput = operand(TENSOR_QUANT8_ASYMM_SIGNED, from, 77 - 128);
        OperandView signedOutput = operand(TENSOR_QUANT8_ASYMM_SIGNED, to, 130 - 128);
        LookupTable select = Rescaling.requantize(input, output);
        LookupTable concatenation = Rescaling.concatenation(input, output);
        LookupTable signedSelect = Rescaling.requantize(signedInput, signedOutput);
        LookupTable signedConcatenation = Rescaling.concatenation(signedInput, signedOutput);
        for (int stored = 0; stored <= 255; stored++) {
          double exact = (stored - 77) * (double) from / to + 130;
          double nearest = Math.min(Math.max(exact, 0), 255);
          String what = stored + " from " + from + " to " + to;
          assertTrue(Math.abs(select.apply(stored) - nearest) <= 0.501, what);
          assertTrue(Math.abs(concatenation.apply(stored) - nearest) <= 0.501, what);
          assertEquals(select.apply(stored) - 128, signedSelect.apply(stored - 128), what);
          assertEquals(
              concatenation.apply(stored) - 128, signedConcatenation.apply(stored - 128), what);
        }
      }
    }
  }
}
