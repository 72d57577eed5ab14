// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The closed equations beside the cycle counts of two simulators. */
class ScaleSimTest {
  private static final double MEAN = 1.10;
  private static final double WORST = 1.25;

  private record Row(String layer, long m, long k, long n, ArrayTiming array, long v2, long v1) {
    static Row of(String line) {
      String[] cells = line.split(",");
      Dataflow dataflow =
          cells[6].equals("ws") ? Dataflow.WEIGHT_STATIONARY : Dataflow.OUTPUT_STATIONARY;
      return new Row(
          cells[0],
          Long.parseLong(cells[1]),
          Long.parseLong(cells[2]),
          Long.parseLong(cells[3]),
          new ArrayTiming(Integer.parseInt(cells[4]), Integer.parseInt(cells[5]), dataflow),
          Long.parseLong(cells[7]),
          Long.parseLong(cells[8]));
    }

    long cycles() {
      return array.cycles(m, k, n);
    }
  }

  private static List<Row> rows(int size, Dataflow dataflow) throws IOException {
    try (InputStream stream = ScaleSimTest.class.getResourceAsStream("scale-sim.csv")) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.startsWith("#") && !line.startsWith("layer,"))
          .map(Row::of)
          .filter(row -> row.array().rows() == size && row.array().dataflow() == dataflow)
          .toList();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {12, 16, 32, 64})
  void weightStationaryIsWithinTheBoundOfBothSimulators(int size) throws IOException {
    List<Row> rows = rows(size, Dataflow.WEIGHT_STATIONARY);
    assertTrue(rows.size() >= 20, "only " + rows.size() + " layers");
    for (ToLongFunction<Row> simulator : List.<ToLongFunction<Row>>of(Row::v2, Row::v1)) {
      double sum = 0;
      for (Row row : rows) {
        double off = Math.abs(Math.log((double) row.cycles() / simulator.applyAsLong(row)));
        assertTrue(off <= Math.log(WORST), row::toString);
        sum += off;
      }
      assertTrue(Math.exp(sum / rows.size()) <= MEAN, "at " + size);
    }
  }

  /**
   * The one figure that SCALE-Sim publishes with its sources: test/golden_trace/COMPUTE_REPORT.csv,
   * the first layer of AlexNet with its output rounded up to 55 x 55, counted from cycle 0 on.
   */
  @Test
  void theGoldenTraceOfScaleSimIsMet() {
    assertEquals(
        112283, new ArrayTiming(32, 32, Dataflow.WEIGHT_STATIONARY).cycles(55 * 55, 363, 96) - 1);
  }

  /**
   * SCALE-Sim's later version lets the sums of one fold drain while the next one fills the array:
   * what is left between the two is that drain, R cycles of each fold, and nothing else.
   */
  @ParameterizedTest
  @ValueSource(ints = {12, 16, 32, 64})
  void outputStationaryDiffersByTheDrainOfEachFold(int size) throws IOException {
    List<Row> rows = rows(size, Dataflow.OUTPUT_STATIONARY);
    assertTrue(rows.size() >= 20, "only " + rows.size() + " layers");
    for (Row row : rows) {
      long drains = row.array().folds(row.m(), row.k(), row.n()) * size;
      assertEquals(row.v2() + 1, row.cycles() - drains, row::toString);
      assertTrue(row.v1() < row.cycles(), row::toString);
    }
  }
}
