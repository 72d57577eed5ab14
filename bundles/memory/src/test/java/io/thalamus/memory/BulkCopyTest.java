// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BulkCopyTest {
  private static final int PIECE = 1 << 20;
  private static final int FROM = 3;
  private static final int TO = 5;

  /** Sizes around whole pieces: what is copied is whole, and nothing beside it is touched. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 7})
  void copiesAllBytesAndNoOthers(int bytes) {
    byte[] from = new byte[FROM + bytes + 1];
    new Random(bytes).nextBytes(from);
    byte[] to = new byte[TO + bytes + 1];
    Arrays.fill(to, (byte) 77);
    byte[] expected = to.clone();
    System.arraycopy(from, FROM, expected, TO, bytes);
    BulkCopy.copy(MemorySegment.ofArray(from), FROM, MemorySegment.ofArray(to), TO, bytes);
    assertArrayEquals(expected, to);
  }

  @ParameterizedTest
  @ValueSource(ints = {8, PIECE + 8})
  void refusesWhatDoesNotFit(int bytes) {
    MemorySegment from = MemorySegment.ofArray(new byte[bytes]);
    MemorySegment to = MemorySegment.ofArray(new byte[bytes - 1]);
    assertThrows(IndexOutOfBoundsException.class, () -> BulkCopy.copy(from, 0, to, 0, bytes));
  }
}
