// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.text.Style;
import io.thalamus.shell.results.ProfileResult.Part;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ProfileResultTest {
  private final ProfileResult result =
      new ProfileResult(
          "m.tflite",
          "fast",
          List.of(
              new Part(
                  "CONV_2D",
                  "a TENSOR_FLOAT32 1x2",
                  3_000_000,
                  OptionalLong.of(60_000_000),
                  OptionalDouble.of(0.5)),
              new Part(
                  "RESHAPE", "b TENSOR_FLOAT32 2", 0, OptionalLong.of(0), OptionalDouble.empty()),
              new Part(
                  "TANH",
                  "c TENSOR_FLOAT32 2",
                  1_000_000,
                  OptionalLong.empty(),
                  OptionalDouble.empty())),
          Style.PLAIN);

  @Test
  void eachOperationHasItsShareOfTimeAndOfTheRoof() {
    List<String> lines = result.text().lines().toList();
    assertTrue(lines.get(1).matches(".*CONV_2D .* 3\\.0+ ms +75 % +20 G +50 %"), lines.get(1));
    assertTrue(lines.get(2).strip().endsWith("b TENSOR_FLOAT32 2"), lines.get(2));
    assertTrue(lines.get(3).strip().endsWith("25 %"), lines.get(3));
  }

  @Test
  void aNameThatAConverterMadeOfManyLosesItsMiddle() {
    String name =
        "expanded_conv/project/add_fold;".repeat(9) + " TENSOR_QUANT8_ASYMM 1x112x112x960";
    Part part =
        new Part("DEPTHWISE_CONV_2D", name, 1, OptionalLong.empty(), OptionalDouble.empty());
    ProfileResult named = new ProfileResult("m.tflite", "fast", List.of(part), Style.PLAIN);
    String line = named.text().lines().toList().get(1);
    assertTrue(line.length() < 120, line);
    assertTrue(
        line.contains(" expanded_conv/") && line.contains(" TENSOR_QUANT8_ASYMM 1x112x112x960 "),
        line);
    assertTrue(named.data().toString().contains(name));
  }

  @Test
  void numbersThatAreNotKnownAreLeftOut() {
    List<?> operations = (List<?>) ((Map<?, ?>) result.data()).get("operations");
    assertEquals(
        Map.of("operation", "TANH", "result", "c TENSOR_FLOAT32 2", "nanos", 1_000_000L),
        operations.get(2));
    assertEquals(0.5, ((Map<?, ?>) operations.get(0)).get("roof"));
  }
}
