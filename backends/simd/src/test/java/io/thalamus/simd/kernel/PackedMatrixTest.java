// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Matrices that are made narrow for a cache, and wide again. */
class PackedMatrixTest {
  private static byte[] bits(PackedMatrix matrix) {
    return matrix.data().toArray(ValueLayout.JAVA_BYTE);
  }

  @ParameterizedTest
  @ValueSource(ints = {-255, -200, -128, -1, 0})
  void aNarrowMatrixBecomesTheSameToTheBit(int least) {
    long seed = ThreadLocalRandom.current().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 10; round++) {
      int rows = 1 + random.nextInt(90);
      int columns = 1 + random.nextInt(200);
      PackedMatrix matrix =
          PackedMatrix.of(rows, columns, (row, column) -> least + random.nextInt(256));
      PackedMatrix.Narrow narrow = matrix.narrow().orElseThrow();
      MemorySegment bytes = MemorySegment.ofArray(narrow.bytes());
      PackedMatrix wide = PackedMatrix.of(rows, columns, narrow.least(), bytes);
      assertArrayEquals(bits(matrix), bits(wide), () -> "seed " + seed);
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> PackedMatrix.of(rows, columns, narrow.least(), bytes.asSlice(1)));
    }
  }

  /** Elements beside zeros, which fill the last panel up. */
  @ParameterizedTest
  @ValueSource(floats = {0.5f, -0f, 256f, -256f, 1e9f, Float.NaN, Float.NEGATIVE_INFINITY})
  void whatBytesCannotSayStaysWide(float element) {
    PackedMatrix matrix = PackedMatrix.of(3, 5, (row, column) -> row == 1 ? element : 0);
    assertEquals(Optional.empty(), matrix.narrow());
  }

  @Test
  void aMatrixOfZerosIsNarrow() {
    assertEquals(0, PackedMatrix.of(2, 2, (row, column) -> 0).narrow().orElseThrow().least());
  }
}
