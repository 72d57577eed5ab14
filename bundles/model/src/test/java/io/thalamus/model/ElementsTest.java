// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ElementsTest {
  /** One byte before the elements, so that none is aligned. */
  private static MemorySegment unaligned(byte[] bytes) {
    return MemorySegment.ofArray(bytes).asSlice(1);
  }

  @ParameterizedTest
  @EnumSource
  void elementsAreWrittenAndReadInEachWay(Elements elements) {
    byte[] bytes = new byte[1 + 3 * elements.size()];
    MemorySegment segment = unaligned(bytes);
    elements.setDouble(segment, 0, elements.least());
    elements.setInt(segment, 1, 1);
    elements.setFloat(segment, 2, 0);
    assertEquals(elements.least(), elements.getDouble(segment, 0));
    assertEquals((float) elements.least(), elements.getFloat(segment, 0));
    assertEquals((int) elements.least(), elements.getInt(segment, 0));
    assertEquals(1, elements.getDouble(segment, 1));
    assertEquals(1, elements.getFloat(segment, 1));
    assertEquals(1, elements.getInt(segment, 1));
    assertEquals(0, elements.getDouble(segment, 2));
    elements.setDouble(segment, 2, elements.most());
    assertEquals(elements.most(), elements.getDouble(segment, 2));
    assertEquals(1, elements.getInt(segment, 1), "the neighbour");
    assertEquals(0, bytes[0], "the byte before");
    assertThrows(IndexOutOfBoundsException.class, () -> elements.getDouble(segment, 3));
    assertThrows(IndexOutOfBoundsException.class, () -> elements.setDouble(segment, 3, 0));
  }

  @Test
  void bytesAreLittleEndian() {
    MemorySegment segment =
        unaligned(new byte[] {0, (byte) 0xFE, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF});
    assertEquals(-2, Elements.INT32.getDouble(segment, 0));
    assertEquals(0xFFFF_FFFEL, Elements.UINT32.getDouble(segment, 0));
    assertEquals(-2, Elements.UINT32.getInt(segment, 0));
    assertEquals(-2, Elements.INT16.getDouble(segment, 0));
    assertEquals(0xFFFE, Elements.UINT16.getDouble(segment, 0));
    assertEquals(-2, Elements.INT8.getDouble(segment, 0));
    assertEquals(0xFE, Elements.UINT8.getDouble(segment, 0));
    assertEquals(0xFE, Elements.BOOL8.getDouble(segment, 0));
    Elements.FLOAT16.setFloat(segment, 1, 1.5f);
    assertArrayEquals(
        new byte[] {(byte) 0xFE, (byte) 0xFF, 0, 0x3E}, segment.toArray(ValueLayout.JAVA_BYTE));
    Elements.FLOAT32.setDouble(segment, 0, 1);
    assertArrayEquals(new byte[] {0, 0, (byte) 0x80, 0x3F}, segment.toArray(ValueLayout.JAVA_BYTE));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "SUBGRAPH")
  void eachTypeHasElementsOfItsSize(OperandCode type) {
    Elements elements = Elements.of(type);
    assertEquals(type.elementSize(), elements.size());
    assertEquals(Optional.of(elements), Elements.find(type));
    assertEquals(type.name().contains("FLOAT"), elements.isFloat());
    boolean isSigned = type != OperandCode.TENSOR_QUANT8_ASYMM && !type.name().contains("BOOL");
    isSigned &= type != OperandCode.TENSOR_QUANT16_ASYMM && type != OperandCode.UINT32;
    assertEquals(isSigned, elements.least() < 0);
  }

  @Test
  void otherTypesHaveNone() {
    OperandType extension = new ExtensionOperandType("com.example", 1, "ONE", true, 4);
    assertTrue(Elements.find(extension).isEmpty());
    assertTrue(Elements.find(OperandCode.SUBGRAPH).isEmpty());
    assertThrows(IllegalArgumentException.class, () -> Elements.of(extension));
    assertThrows(IllegalArgumentException.class, () -> Elements.of(OperandCode.SUBGRAPH));
  }
}
