// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class TensorTest {
  private static final Operand BYTES =
      operand(OperandCode.TENSOR_QUANT8_ASYMM, Quantization.of(0.5f, 10), 0, 2);

  private static Operand operand(OperandCode type, Quantization quantization, int... shape) {
    return new Operand(type, Shape.of(shape), quantization, Lifetime.SUBGRAPH_INPUT, "x");
  }

  private static Operand floats(int... shape) {
    return operand(OperandCode.TENSOR_FLOAT32, Quantization.NONE, shape);
  }

  @Test
  void realNumbersAreQuantizedAndComeBack() throws Exception {
    Tensor tensor = Tensor.of(BYTES, 0f, 1.3f, -100, 200);
    assertEquals(Shape.of(2, 2), tensor.shape());
    // 10 + 2 * value, rounded and cut to 0 to 255
    assertArrayEquals(new byte[] {10, 13, 0, (byte) 255}, tensor.toBytes());
    assertArrayEquals(new long[] {10, 13, 0, 255}, tensor.toLongs());
    assertArrayEquals(new float[] {0, 1.5f, -5, 122.5f}, tensor.toFloats());
  }

  @Test
  void integersAndBytesAreStoredAsTheyAre() throws Exception {
    assertArrayEquals(new byte[] {(byte) 200, 7}, Tensor.of(BYTES, 200L, 7L).toBytes());
    assertArrayEquals(new long[] {200, 7}, Tensor.of(BYTES, new byte[] {(byte) 200, 7}).toLongs());
    assertArrayEquals(new long[] {-3}, Tensor.ints(new int[] {-3}, 1).toLongs());
  }

  @Test
  void buffersCountFromTheirPositionWhateverTheirOrder() throws Exception {
    ByteBuffer buffer = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN);
    buffer.putInt(9).putFloat(1.5f).putFloat(-2).position(4).order(ByteOrder.BIG_ENDIAN);
    Tensor tensor = Tensor.of(floats(2), buffer);
    assertArrayEquals(new float[] {1.5f, -2}, tensor.toFloats());
    assertEquals(4, buffer.position());
    tensor.asByteBuffer().putFloat(4, 8);
    assertEquals(8, tensor.real(1));
  }

  @Test
  void tensorsLieOffTheHeapAndOnlyTheCallersMemoryIsShared() throws Exception {
    float[] values = {1, 2};
    Tensor copy = Tensor.floats(values, 1, 2);
    values[0] = 7;
    assertEquals(1, copy.real(0));
    assertTrue(copy.segment().isNative());
    assertEquals(0, copy.segment().address() % 64);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(8);
      Tensor shared = Tensor.of(floats(2), memory);
      shared.store(1, 3);
      assertEquals(3f, memory.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getFloat(4));
    }
  }

  @Test
  void anOpenDimensionMayBeOfNoElements() throws Exception {
    for (Tensor none :
        List.of(Tensor.of(floats(0, 3), new float[0]), Tensor.of(floats(0, 3), new byte[0]))) {
      assertEquals(Shape.of(0, 3), none.shape());
      assertEquals(0, none.count());
    }
  }

  @Test
  void aValueThatDoesNotFitIsOneLine() {
    assertRefused(
        "x TENSOR_FLOAT32 2x3 takes 6 floats, not 5", () -> Tensor.of(floats(2, 3), new float[5]));
    assertRefused(
        "x TENSOR_FLOAT32 2x3 takes 24 bytes, not 5", () -> Tensor.of(floats(2, 3), new byte[5]));
    assertRefused(
        "x TENSOR_FLOAT32 ?x3 takes a multiple of 3 floats, not 4",
        () -> Tensor.of(floats(0, 3), new float[4]));
    assertRefused(
        "x TENSOR_FLOAT32 ?x? has open dimensions: name them by Operand.with(Shape)",
        () -> Tensor.of(floats(0, 0), new float[4]));
    assertRefused(
        "element 1 is 256, which no x TENSOR_QUANT8_ASYMM ?x2 has",
        () -> Tensor.of(BYTES, 0L, 256L));
    NeuralNetworksException large =
        assertThrows(
            NeuralNetworksException.class,
            () -> Tensor.allocate(floats(), Shape.of(1 << 30, 1 << 30, 1 << 30)));
    assertEquals(ResultCode.OUT_OF_MEMORY, large.code());
    assertEquals(
        "dimensions [2, 2] hold 4 elements, not 3",
        assertThrows(IllegalArgumentException.class, () -> Tensor.floats(new float[3], 2, 2))
            .getMessage());
  }

  private static void assertRefused(String line, Executable action) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, action);
    assertEquals(line, e.getMessage());
    assertEquals(ResultCode.BAD_DATA, e.code());
  }
}
