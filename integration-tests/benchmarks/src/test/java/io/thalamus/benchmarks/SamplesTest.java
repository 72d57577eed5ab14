// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class SamplesTest {
  @Test
  void quantilesLieBetweenNeighbours() {
    Samples samples = Samples.of(List.of(4.0, 1.0, 2.0, 3.0));
    assertEquals(2.5, samples.median());
    assertEquals(1, samples.quantile(0));
    assertEquals(4, samples.quantile(1));
    assertEquals(1.3, samples.low(), 1e-12);
    assertEquals(3.7, samples.high(), 1e-12);
  }

  @Test
  void oneSampleIsAllQuantiles() {
    Samples one = Samples.of(List.of(7.0));
    assertEquals(7, one.low());
    assertEquals(7, one.high());
  }

  @Test
  void nothingHasNoMedian() {
    assertThrows(IllegalArgumentException.class, () -> Samples.of(List.of()));
  }
}
