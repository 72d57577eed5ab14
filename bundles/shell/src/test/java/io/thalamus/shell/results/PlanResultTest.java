// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Plan;
import io.thalamus.api.Plan.Crossing;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.Plan.Step;
import io.thalamus.api.Prediction;
import io.thalamus.api.Prediction.Estimate;
import io.thalamus.api.Prediction.StepEstimate;
import io.thalamus.console.Json;
import io.thalamus.console.text.Style;
import io.thalamus.model.OperationCode;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class PlanResultTest {
  private static final Style WIDE = new Style(false, false, 120);

  /** CONV_2D on simd, then two operations on cpu, of which one was measured nowhere. */
  private static PlanResult result(boolean verbose) {
    Map<String, Double> both = Map.of("cpu", 1.0, "simd", 0.3);
    Map<String, Double> one = Map.of("cpu", 1.0);
    List<PlannedOperation> operations =
        List.of(
            new PlannedOperation(0, 0, OperationCode.CONV_2D, "simd", both),
            new PlannedOperation(0, 1, OperationCode.CAST, "cpu", one),
            new PlannedOperation(0, 2, OperationCode.RELU, "cpu", one));
    List<Step> steps =
        List.of(
            new Step(
                "simd",
                0,
                List.of(0),
                List.of(new Crossing(0, "x", 4)),
                List.of(new Crossing(1, "t", 8))),
            new Step(
                "cpu",
                0,
                List.of(1, 2),
                List.of(new Crossing(1, "t", 8)),
                List.of(new Crossing(2, "y", 8))));
    Prediction prediction =
        new Prediction(
            List.of(
                Map.of("simd", new Estimate(200_000, true), "cpu", new Estimate(3_000_000, true)),
                Map.of("cpu", new Estimate(50_000, true)),
                Map.of("cpu", new Estimate(30_000, false))),
            List.of(
                new StepEstimate(9_000, 1_000, 200_000, true),
                new StepEstimate(4_000, 1_000, 80_000, false)),
            OptionalDouble.of(0.25),
            List.of("the budget is not kept"));
    return new PlanResult(
        "m.tflite", new Plan("search", operations, steps, prediction), verbose, WIDE);
  }

  @Test
  void timesThatWereNotMeasuredAreMarked() {
    List<String> lines = result(false).text().lines().toList();
    assertEquals(
        "3 operations in 2 steps, policy search, 8 B between steps, ~295 us expected",
        lines.get(0));
    assertEquals("step  device  in     out    boundary  inside  operations", lines.get(2));
    assertEquals("   1  simd    x 4 B  t 8 B     10 us  200 us  0: CONV_2D", lines.get(3));
    assertEquals("   2  cpu     t 8 B  y 8 B      5 us  ~80 us  1-2: CAST, RELU", lines.get(4));
    assertEquals("cost of  device         cpu         simd  operations", lines.get(6));
    assertEquals("0        simd    1: 3.00 ms  0.3: 200 us  CONV_2D", lines.get(7));
    assertEquals("1-2      cpu      1: ~80 us            -  CAST, RELU", lines.get(8));
    assertTrue(lines.get(10).startsWith("~ not measured"), lines.get(10));
    assertEquals("energy: 0.25 of what cpu alone would need, by declared power", lines.get(11));
    assertEquals("note: the budget is not kept", lines.get(12));
  }

  @Test
  void eachOperationHasALineWhereThatIsWanted() {
    List<String> lines = result(true).text().lines().toList();
    assertEquals("1        cpu       1: 50 us            -  CAST", lines.get(8));
    assertEquals("2        cpu      1: ~30 us            -  RELU", lines.get(9));
    assertEquals(Map.of(0, "200 us", 1, "50 us", 2, "~30 us"), result(true).times());
  }

  @Test
  void jsonHasAllOfIt() {
    String json = Json.line(result(false).data());
    assertTrue(json.contains("\"expectedMillis\":0.295,\"measured\":false,\"energy\":0.25"), json);
    assertTrue(json.contains("\"remarks\":[\"the budget is not kept\"]"), json);
    assertTrue(
        json.contains("\"startMillis\":0.009,\"boundaryMillis\":0.001,\"operationMillis\":0.2"),
        json);
    assertTrue(
        json.contains(
            "\"expected\":{\"cpu\":{\"millis\":3,\"measured\":true},"
                + "\"simd\":{\"millis\":0.2,\"measured\":true}}"),
        json);
  }
}
