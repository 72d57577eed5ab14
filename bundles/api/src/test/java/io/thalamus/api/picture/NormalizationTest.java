// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NormalizationTest {
  private static Operand operand(OperandCode type, float scale, int zeroPoint) {
    return new Operand(
        type,
        Shape.of(1, 8, 8, 3),
        Quantization.of(scale, zeroPoint),
        Lifetime.SUBGRAPH_INPUT,
        "x");
  }

  @ParameterizedTest
  @CsvSource({
    "TENSOR_QUANT8_ASYMM,0.0078125,128,(value - 128) / 128,-1,0.9922",
    "TENSOR_QUANT8_ASYMM_SIGNED,0.0078125,0,(value - 128) / 128,-1,0.9922",
    "TENSOR_QUANT8_ASYMM,0.00390625,0,(value - 0) / 256,0,0.9961",
    "TENSOR_QUANT8_ASYMM_SIGNED,1,-128,(value - 0) / 1,0,255",
  })
  void theRangeOfAQuantizedInputFixesIt(
      OperandCode type, float scale, int zeroPoint, String formula, String low, String high) {
    Normalization normalization =
        Normalization.known(
                operand(type, scale, zeroPoint), Optional.of(new ModelFile.Normalization(1, 2)))
            .orElseThrow();
    assertEquals(formula, normalization.formula());
    assertEquals(
        "bytes as they are: the quantized input's real range is " + low + " to " + high,
        normalization.reason());
  }

  @ParameterizedTest
  @CsvSource({
    "TENSOR_QUANT8_ASYMM,0.02,128", // about -2.6 to 2.5: standardized per channel
    "TENSOR_QUANT8_ASYMM_SIGNED,1,0", // -128 to 127
    "TENSOR_QUANT8_ASYMM,0.0078125,140", // -1.09 to 0.9
    "TENSOR_FLOAT32,0,0",
    "TENSOR_QUANT16_SYMM,0.0000305,0",
  })
  void otherInputsNeedMetadata(OperandCode type, float scale, int zeroPoint) {
    Operand input = operand(type, scale, zeroPoint);
    assertEquals(Optional.empty(), Normalization.known(input, Optional.empty()));
    Normalization stated =
        Normalization.known(input, Optional.of(new ModelFile.Normalization(127.5f, 64)))
            .orElseThrow();
    assertEquals("(value - 127.5) / 64", stated.formula());
    assertEquals("stated by the model file", stated.reason());
  }

  @Test
  void oneNumberServesAllChannels() {
    Normalization one = Normalization.given(new float[] {100}, new float[] {1, 2, 4});
    assertEquals(true, one.fits(3));
    assertEquals(false, one.fits(1));
    assertEquals(25f, one.apply(200, 2));
    assertEquals("(value - 100) / 1,2,4", one.formula());
  }
}
