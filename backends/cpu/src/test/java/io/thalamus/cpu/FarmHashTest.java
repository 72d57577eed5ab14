// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Fingerprints as Guava's {@code Hashing.farmHashFingerprint64()} gives them. */
class FarmHashTest {
  private static final long[][] BY_LENGTH = {
    {0, -7286425919675154353L},
    {3, 1310518540512506342L},
    {7, -7389360143415916596L},
    {12, 1451642572992389444L},
    {16, 4338871769482718964L},
    {17, 2791110717120146389L},
    {32, -2834766930982900504L},
    {33, 2327144085378135765L},
    {64, -473960988443454289L},
    {65, -1459088110123452842L},
    {128, -606343338637369650L},
    {200, -281839003243574552L}
  };

  @Test
  void allBranchesByLength() {
    for (long[] row : BY_LENGTH) {
      int length = (int) row[0];
      // One byte more than is hashed, which must not matter.
      byte[] bytes = new byte[length + 1];
      for (int i = 0; i < length; i++) {
        bytes[i] = (byte) (i * 37 + length);
      }
      bytes[length] = 99;
      assertEquals(
          row[1], FarmHash.fingerprint(MemorySegment.ofArray(bytes), length), length + " bytes");
    }
  }
}
