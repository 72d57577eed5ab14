// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.driver.OperationTable.Key;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.OperationView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class OperationTableTest {
  private static final OperandCode FLOATS = OperandCode.TENSOR_FLOAT32;

  private final List<Integer> added = new ArrayList<>();
  private final OperationTable<String> table = OperationTable.of(this::addFamily);

  private boolean addFamily(int number, OperationTable.Builder<String> builder) {
    switch (number) {
      case 0 -> {
        builder.add(OperationCode.FLOOR, operation -> false, "never", FLOATS);
        builder.add(OperationCode.ABS, operation -> true, "magnitude", FLOATS);
      }
      case 1 -> {
        builder.add(OperationCode.FLOOR, operation -> true, "rounded down", FLOATS);
        builder.add(OperationCode.ABS, operation -> true, "too late", FLOATS);
      }
      case 2 -> builder.add(OperationCode.EXP, operation -> true, "power", FLOATS);
      default -> {
        return false;
      }
    }
    added.add(number);
    return true;
  }

  private Optional<String> find(OperationCode code) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int x = graph.input("x", FLOATS, Shape.of(2), Quantization.NONE);
    int y = graph.output("y", FLOATS, Shape.of(2), Quantization.NONE);
    graph.operation(code, List.of(x), List.of(y));
    Model model = Model.of(graph.build());
    return table.find(
        FLOATS, OperationView.of(model, model.main(), model.main().operations().get(0)));
  }

  @Test
  void familiesAreAddedUntilAnOperationIsFound() {
    assertEquals(Optional.of("magnitude"), find(OperationCode.ABS));
    assertEquals(List.of(0), added);
    assertEquals(Optional.of("rounded down"), find(OperationCode.FLOOR));
    assertEquals(List.of(0, 1), added);
    assertEquals(Optional.of("magnitude"), find(OperationCode.ABS));
    assertEquals(Optional.empty(), find(OperationCode.SIN));
    assertEquals(List.of(0, 1, 2), added);
  }

  @Test
  void theKeysAreThoseOfAllFamilies() {
    assertEquals(
        Set.of(
            new Key(OperationCode.FLOOR, FLOATS),
            new Key(OperationCode.ABS, FLOATS),
            new Key(OperationCode.EXP, FLOATS)),
        table.keys());
    assertEquals(List.of(0, 1, 2), added);
  }
}
