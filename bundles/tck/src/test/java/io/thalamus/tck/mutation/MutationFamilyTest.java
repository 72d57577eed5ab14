// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawSubgraph;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MutationFamilyTest {
  private final Example example = Samples.addThenRelu();

  /** Counted by hand: 5 operands, one of them a scalar, 4 inputs and 2 outputs of 2 operations. */
  @Test
  void makesAsManyAsTheFormulaSays() {
    Map<MutationFamily, Integer> expected = new EnumMap<>(MutationFamily.class);
    expected.put(MutationFamily.EXECUTION_ORDER, 2);
    expected.put(MutationFamily.OPERAND_TYPE, 5 * 4);
    expected.put(MutationFamily.OPERAND_RANK, 1);
    expected.put(MutationFamily.OPERAND_SCALE, 5);
    expected.put(MutationFamily.OPERAND_ZERO_POINT, 5);
    expected.put(MutationFamily.OPERAND_LIFE_TIME, 5 * 2);
    expected.put(MutationFamily.OPERAND_INPUT_OUTPUT, 5);
    expected.put(MutationFamily.OPERAND_NUMBER_OF_CONSUMERS, 4 * 2 + 1);
    expected.put(MutationFamily.OPERAND_ADD_WRITER, 2);
    expected.put(MutationFamily.OPERATION_OPERAND_TYPE, 5 * 15);
    expected.put(MutationFamily.OPERATION_TYPE, 2 * 3);
    expected.put(MutationFamily.OPERATION_INPUT_OPERAND_INDEX, 4);
    expected.put(MutationFamily.OPERATION_OUTPUT_OPERAND_INDEX, 2);
    expected.put(MutationFamily.OPERATION_REMOVE_WRITE, 1);
    expected.put(MutationFamily.REMOVE_OPERAND, 4);
    expected.put(MutationFamily.REMOVE_OPERATION, 2);
    expected.put(MutationFamily.REMOVE_OPERATION_INPUT, 4);
    expected.put(MutationFamily.REMOVE_OPERATION_OUTPUT, 2);
    expected.put(MutationFamily.ADD_OPERATION_INPUT, 2);
    expected.put(MutationFamily.ADD_OPERATION_OUTPUT, 2);
    expected.put(MutationFamily.EXECUTION_PREFERENCE, 2);
    expected.put(MutationFamily.EXECUTION_PRIORITY, 2);
    Map<MutationFamily, Integer> actual = new EnumMap<>(MutationFamily.class);
    for (MutationFamily family : MutationFamily.values()) {
      actual.put(family, family.of(example).size());
    }
    assertEquals(expected, actual);
  }

  @Test
  void sumsUpToWhatTheReferenceCountsInAosp() {
    assertEquals(22, MutationFamily.values().length);
    assertEquals(
        962_782, Arrays.stream(MutationFamily.values()).mapToInt(MutationFamily::aospCount).sum());
  }

  @Test
  void everyMutationChangesSomethingAndLeavesTheOriginalAlone() {
    Example before = Samples.addThenRelu();
    for (MutationFamily family : MutationFamily.values()) {
      for (Mutation mutation : family.of(example)) {
        RawPreparation damaged = mutation.apply();
        assertNotEquals(
            new RawPreparation(
                before.withExpectFailure(true).withData(damaged.example().inputs(), List.of()),
                1,
                1),
            damaged,
            mutation.description());
        assertEquals(before, mutation.original());
      }
    }
  }

  @Test
  void removesAnOperandWithAllItsUses() {
    Mutation mutation = MutationFamily.REMOVE_OPERAND.of(example).get(1);
    RawSubgraph graph = mutation.apply().example().main();
    assertEquals("operand 1 and all its uses are gone", mutation.description());
    assertEquals(4, graph.operands().size());
    assertEquals(List.of(0, 1), graph.operations().get(0).inputs());
    assertEquals(List.of(2), graph.operations().get(0).outputs());
    assertEquals(List.of(2), graph.operations().get(1).inputs());
    assertEquals(List.of(3), graph.outputIndexes());
  }

  @Test
  void movesTheReaderToTheFront() {
    List<Mutation> mutations = MutationFamily.EXECUTION_ORDER.of(example);
    for (Mutation mutation : mutations) {
      RawSubgraph graph = mutation.apply().example().main();
      assertEquals("RELU", graph.operations().getFirst().type(), mutation.description());
    }
  }

  @Test
  void makesAChangedTypeLegalInItself() {
    Mutation toPerChannel =
        MutationFamily.OPERATION_OPERAND_TYPE.of(example).stream()
            .filter(m -> m.description().startsWith("operand 1 is TENSOR_QUANT8_SYMM_PER_CHANNEL"))
            .findFirst()
            .orElseThrow();
    var operand = toPerChannel.apply().example().main().operands().get(1);
    assertEquals(2, operand.channelQuant().orElseThrow().scales().size());
    assertEquals(0, operand.scale());
    assertEquals(-5, operand.values().orElseThrow().get(1));
    Mutation toBool =
        MutationFamily.OPERATION_OPERAND_TYPE.of(example).stream()
            .filter(m -> m.description().startsWith("operand 1 is BOOL"))
            .findFirst()
            .orElseThrow();
    operand = toBool.apply().example().main().operands().get(1);
    assertEquals(0, operand.dims().rank());
    assertEquals(1, operand.values().orElseThrow().size());
    assertTrue(operand.values().orElseThrow().get(0) <= 1);
  }
}
