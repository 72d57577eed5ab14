// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.x86.RandomGraphs.compare;

import io.thalamus.tck.check.RandomDetections;
import io.thalamus.x86.asm.Level;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Boxes that are chosen by their scores, against the reference. */
class DetectionsTest {
  /** The same numbers, though not the same bits of NaN and of zeros. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void theSameBoxesAreChosenAsByTheReference(Level level) throws Exception {
    compare(level, Double.MIN_VALUE, RandomDetections::fill);
  }
}
