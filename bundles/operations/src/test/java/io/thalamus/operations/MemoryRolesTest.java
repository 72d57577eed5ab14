// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.MemoryRoles.Conflict;
import io.thalamus.operations.MemoryRoles.Role;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link MemoryRoles}: roles that go together, and each way in which they do not. */
class MemoryRolesTest {
  private static final Object ONE = "one";
  private static final Object TWO = "two";

  private static Subgraph graph() {
    SubgraphBuilder builder = new SubgraphBuilder();
    builder.input("state", OperandCode.TENSOR_FLOAT32, Shape.of(0, 8), Quantization.NONE);
    builder.input("other", OperandCode.TENSOR_INT32, Shape.of(2, 8), Quantization.NONE);
    builder.input("flag", OperandCode.INT32, Shape.NONE, Quantization.NONE);
    builder.input("next", OperandCode.TENSOR_FLOAT32, Shape.of(4, 0), Quantization.NONE);
    return builder.build();
  }

  private static Role input(Object owner, int index) {
    return new Role(owner, graph(), true, index, 1);
  }

  private static void conflicts(String message, Shape dimensions, Role... roles) {
    assertEquals(
        message,
        assertThrows(Conflict.class, () -> MemoryRoles.common(List.of(roles), dimensions))
            .getMessage());
  }

  @Test
  void dimensionsOfAllRolesAndOfTheDescriptionAreCombined() throws Exception {
    Operand common = MemoryRoles.common(List.of(input(ONE, 0)), Shape.NONE);
    assertEquals(Shape.of(0, 8), common.shape());
    assertEquals(
        Shape.of(3, 8), MemoryRoles.common(List.of(input(ONE, 0)), Shape.of(3, 0)).shape());
    common = MemoryRoles.common(List.of(input(ONE, 0), input(TWO, 3)), Shape.NONE);
    assertEquals(Shape.of(4, 8), common.shape());
    assertEquals(OperandCode.TENSOR_FLOAT32, common.type());
  }

  @Test
  void theSameInputOfAnotherOwnerIsAnotherRole() throws Exception {
    MemoryRoles.common(List.of(input(ONE, 0), input(TWO, 0)), Shape.NONE);
    conflicts("input 0 'state' is given twice", Shape.NONE, input(ONE, 0), input(ONE, 0));
  }

  @Test
  void wrongRolesAreNamed() {
    conflicts("it has no role: say which input or output it is for", Shape.NONE);
    conflicts("there is no input 4: the model has 4", Shape.NONE, input(ONE, 4));
    conflicts("there is no input -1: the model has 4", Shape.NONE, input(ONE, -1));
    Role output = new Role(ONE, graph(), false, 0, 1);
    conflicts("there is no output 0: the model has 0", Shape.NONE, output);
    for (float frequency : new float[] {0, -1, 1.5f, Float.NaN}) {
      conflicts(
          "the frequency of input 0 'state' is " + frequency + ", not in (0, 1]",
          Shape.NONE,
          new Role(ONE, graph(), true, 0, frequency));
    }
  }

  @Test
  void contradictionsAreNamed() {
    conflicts(
        "input 1 'other' is TENSOR_INT32 "
            + Quantization.NONE
            + ", but input 0 'state' is TENSOR_FLOAT32 "
            + Quantization.NONE,
        Shape.NONE,
        input(ONE, 0),
        input(ONE, 1));
    conflicts(
        "its own dimensions are %s, which contradicts %s".formatted(Shape.of(3, 7), Shape.of(0, 8)),
        Shape.of(3, 7),
        input(ONE, 0));
    conflicts("a scalar has no dimensions, got " + Shape.of(1), Shape.of(1), input(ONE, 2));
  }
}
