// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawSubgraph;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The 22 families of faults of {@code ValidateModel.cpp} in the vendor test suite of NN HAL 1.3, in
 * its order. Each mutates the main graph, or a setting, in every place where that is a fault.
 *
 * <p>If AOSP's mutation breaks more than it means to, these break only that: a type is changed
 * together with scale, zero point and constant value, an operand is removed with all later indexes
 * moved down, an added output has no consumer. So none is refused for a reason by the way.
 */
public enum MutationFamily implements Family {
  EXECUTION_ORDER("mutateExecutionOrder", 1_212, GraphFaults::executionOrder),
  OPERAND_TYPE("mutateOperandType", 125_872, OperandFaults::type),
  OPERAND_RANK("mutateOperandRank", 14_605, OperandFaults::rank),
  OPERAND_SCALE("mutateOperandScale", 31_468, OperandFaults::scale),
  OPERAND_ZERO_POINT("mutateOperandZeroPoint", 32_026, OperandFaults::zeroPoint),
  OPERAND_LIFE_TIME("mutateOperandLifeTime", 60_396, LifetimeFaults::lifeTime),
  OPERAND_INPUT_OUTPUT("mutateOperandInputOutput", 30_641, LifetimeFaults::inputOutput),
  OPERAND_NUMBER_OF_CONSUMERS(
      "mutateOperandNumberOfConsumers", 58_077, OperandFaults::numberOfConsumers),
  OPERAND_ADD_WRITER("mutateOperandAddWriter", 5_710, GraphFaults::addWriter),
  OPERATION_OPERAND_TYPE(
      "mutateOperationOperandType", 469_611, OperandTypeFaults::operationOperandType),
  OPERATION_TYPE("mutateOperationType", 13_221, OperationFaults::type),
  OPERATION_INPUT_OPERAND_INDEX(
      "mutateOperationInputOperandIndex", 27_176, OperationFaults::inputIndex),
  OPERATION_OUTPUT_OPERAND_INDEX(
      "mutateOperationOutputOperandIndex", 5_710, OperationFaults::outputIndex),
  OPERATION_REMOVE_WRITE("mutateOperationRemoveWrite", 851, GraphFaults::removeWrite),
  REMOVE_OPERAND("removeOperand", 26_609, GraphFaults::removeOperand),
  REMOVE_OPERATION("removeOperation", 4_407, GraphFaults::removeOperation),
  REMOVE_OPERATION_INPUT("removeOperationInput", 25_794, OperationFaults::removeInput),
  REMOVE_OPERATION_OUTPUT("removeOperationOutput", 5_710, OperationFaults::removeOutput),
  ADD_OPERATION_INPUT("addOperationInput", 4_075, OperationFaults::addInput),
  ADD_OPERATION_OUTPUT("addOperationOutput", 4_407, OperationFaults::addOutput),
  EXECUTION_PREFERENCE("mutateExecutionPreference", 7_602, SettingFaults::preference),
  EXECUTION_PRIORITY("mutateExecutionPriority", 7_602, SettingFaults::priority);

  private final String aospName;
  private final int aospCount;
  private final Generator generator;

  MutationFamily(String aospName, int aospCount, Generator generator) {
    this.aospName = aospName;
    this.aospCount = aospCount;
    this.generator = generator;
  }

  @Override
  public String aospName() {
    return aospName;
  }

  @Override
  public int aospCount() {
    return aospCount;
  }

  /** All mutations of this family for one example; none where it has no place for the fault. */
  public List<Mutation> of(Example example) {
    List<Mutation> mutations = new ArrayList<>();
    generator.generate(
        example.main(),
        (description, edit) -> mutations.add(new Mutation(example, description, edit)));
    return mutations;
  }

  /** Finds the places for a fault. */
  @FunctionalInterface
  interface Generator {
    void generate(RawSubgraph graph, Collector found);
  }

  /** Takes what a generator finds. */
  @FunctionalInterface
  interface Collector {
    void add(String description, Consumer<Draft> edit);
  }
}
