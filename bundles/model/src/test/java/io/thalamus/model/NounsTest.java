// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NounsTest {
  @Test
  void operationCodesAreContiguousAsInNnapi() {
    Set<Integer> codes =
        Arrays.stream(OperationCode.values()).map(OperationCode::code).collect(Collectors.toSet());
    assertEquals(IntStream.rangeClosed(0, 101).boxed().collect(Collectors.toSet()), codes);
    for (OperationCode code : OperationCode.values()) {
      assertEquals(code, OperationCode.ofCode(code.code()).orElseThrow());
    }
    assertEquals(OperationCode.CONV_2D, OperationCode.ofCode(3).orElseThrow());
    assertEquals(OperationCode.RANK, OperationCode.ofCode(101).orElseThrow());
    assertTrue(OperationCode.ofCode(102).isEmpty());
    assertTrue(OperationCode.ofCode(-1).isEmpty());
  }

  @Test
  void operandCodesAreContiguousAsInNnapi() {
    for (int code = 0; code <= 15; code++) {
      assertEquals(code, OperandCode.ofCode(code).orElseThrow().code());
    }
    assertEquals(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, OperandCode.ofCode(14).orElseThrow());
    assertTrue(OperandCode.ofCode(16).isEmpty());
    assertTrue(OperandCode.ofCode(-1).isEmpty());
  }

  @Test
  void aShapeDoesNotFollowTheArrayItWasMadeFrom() {
    int[] dimensions = {2, 3};
    Shape shape = Shape.of(dimensions);
    dimensions[0] = 9;
    assertEquals(Shape.of(2, 3), shape);
    shape.toArray()[1] = 9;
    assertEquals(6, shape.elementCount());
  }

  @Test
  void aShapeCountsWithoutOverflowing() {
    assertEquals(1L << 40, Shape.of(1 << 20, 1 << 20).elementCount());
    Shape huge = Shape.of(Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE);
    assertThrows(ArithmeticException.class, huge::elementCount);
    assertThrows(IllegalArgumentException.class, () -> Shape.of(1, -1));
  }

  @Test
  void zeroIsAnUnknownDimension() {
    assertFalse(Shape.of(1, 0).isFullySpecified());
    assertTrue(Shape.NONE.isFullySpecified());
    assertEquals("1x?x3", Shape.of(1, 0, 3).toString());
  }

  @Test
  void perChannelScalesCompareByValue() {
    assertEquals(
        new Quantization.PerChannel(0, new float[] {1, 2}),
        new Quantization.PerChannel(0, new float[] {1, 2}));
    assertNotEquals(
        new Quantization.PerChannel(0, new float[] {1, 2}),
        new Quantization.PerChannel(1, new float[] {1, 2}));
  }

  @Test
  void deadlinesPassAndTheEarlierWins() {
    assertTrue(Deadline.after(Duration.ZERO).hasPassed());
    assertTrue(Deadline.after(Duration.ofSeconds(-1)).hasPassed());
    assertFalse(Deadline.after(Duration.ofHours(1)).hasPassed());
    assertFalse(Deadline.NONE.hasPassed());
    assertFalse(Deadline.after(Duration.ofSeconds(Long.MAX_VALUE)).isSet());
    assertTrue(Deadline.after(Duration.ofSeconds(Long.MIN_VALUE)).hasPassed());
    Deadline soon = Deadline.after(Duration.ofMinutes(1));
    Deadline late = Deadline.after(Duration.ofHours(1));
    assertEquals(soon, soon.earlier(late));
    assertEquals(soon, late.earlier(soon));
    assertEquals(soon, soon.earlier(Deadline.NONE));
    assertEquals(soon, Deadline.NONE.earlier(soon));
  }

  @Test
  void extensionTypesAreKnownByExtensionAndCodeAlone() {
    assertEquals(
        new ExtensionOperationType("io.thalamus", 3, "ERF"),
        new ExtensionOperationType("io.thalamus", 3, "erf"));
    assertNotEquals(
        new ExtensionOperationType("io.thalamus", 3, "ERF"),
        new ExtensionOperationType("com.example", 3, "ERF"));
    assertThrows(
        IllegalArgumentException.class, () -> new ExtensionOperationType("Example", 1, "X"));
    assertThrows(
        IllegalArgumentException.class, () -> new ExtensionOperationType("a.b", 65536, "X"));
  }

  @Test
  void cacheTokensHave32BytesAndDoNotFollowTheirArray() {
    byte[] bytes = new byte[32];
    CacheToken token = CacheToken.of(bytes);
    bytes[0] = 1;
    assertEquals(CacheToken.of(new byte[32]), token);
    assertThrows(IllegalArgumentException.class, () -> CacheToken.of(new byte[31]));
  }

  @Test
  void prioritiesHaveTheNumbersOfBothContracts() {
    assertEquals(100, Priority.MEDIUM.ndkCode());
    assertEquals(1, Priority.MEDIUM.halCode());
  }
}
