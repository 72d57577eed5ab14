// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A model with inputs and the outputs expected of it, as it stands in a file: the raw form, which
 * may be wrong in every way. {@link #decode} makes the typed objects of it. Immutable.
 *
 * @param name unique in its file
 * @param modelName given in the spec, where it is
 * @param exampleName given in the spec, where it is
 * @param variations applied to the spec's own model, in order
 * @param halVersion the lowest HAL version that the model is legal for, where that is known
 * @param isRelaxed whether float32 may be computed as float16
 * @param expectFailure whether building, compiling or executing the model must fail
 * @param multinomialTolerance where positive, distributions are compared instead of values
 * @param main the graph that is executed
 * @param referenced the graphs of its control flow
 * @param inputs one for each input of the main graph
 * @param expectedOutputs one for each output of the main graph
 */
public record Example(
    String name,
    Optional<String> modelName,
    Optional<String> exampleName,
    List<String> variations,
    Optional<String> halVersion,
    boolean isRelaxed,
    boolean expectFailure,
    double multinomialTolerance,
    RawSubgraph main,
    List<RawSubgraph> referenced,
    List<Input> inputs,
    List<ExpectedOutput> expectedOutputs) {
  public Example {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(modelName, "modelName");
    Objects.requireNonNull(exampleName, "exampleName");
    Objects.requireNonNull(halVersion, "halVersion");
    Objects.requireNonNull(main, "main");
    variations = List.copyOf(variations);
    referenced = List.copyOf(referenced);
    inputs = List.copyOf(inputs);
    expectedOutputs = List.copyOf(expectedOutputs);
  }

  /** An example of one graph that is expected to succeed, of no stated HAL version. */
  public static Example of(
      String name, RawSubgraph main, List<Input> inputs, List<ExpectedOutput> expectedOutputs) {
    return new Example(
        name,
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        false,
        false,
        0,
        main,
        List.of(),
        inputs,
        expectedOutputs);
  }

  /**
   * The raw form of a model with its data, to be written to a file. Of no stated HAL version.
   *
   * @param inputs one for each input of the main graph; an empty one is left out
   * @param outputs one for each output of the main graph
   * @throws VectorFormatException where an operand is of a type that has no numbers
   * @throws IllegalArgumentException where the counts of values do not match the graph
   */
  public static Example of(
      String name, Model model, List<MemorySegment> inputs, List<Result> outputs)
      throws VectorFormatException {
    return ExampleEncoder.encode(name, model, inputs, outputs);
  }

  /** All graphs, the main one first. */
  public Stream<RawSubgraph> subgraphs() {
    return Stream.concat(Stream.of(main), referenced.stream());
  }

  /** Returns whether the model loops for ever, and must be stopped by the loop timeout. */
  public boolean isInfiniteLoop() {
    return expectFailure
        && !main.operations().isEmpty()
        && main.operations().getFirst().type().equals("WHILE");
  }

  private Example copy(
      String newName,
      Optional<String> newHalVersion,
      boolean expectsFailure,
      RawSubgraph newMain,
      List<RawSubgraph> newReferenced,
      List<Input> newInputs,
      List<ExpectedOutput> newOutputs) {
    return new Example(
        newName,
        modelName,
        exampleName,
        variations,
        newHalVersion,
        isRelaxed,
        expectsFailure,
        multinomialTolerance,
        newMain,
        newReferenced,
        newInputs,
        newOutputs);
  }

  public Example withName(String value) {
    return copy(value, halVersion, expectFailure, main, referenced, inputs, expectedOutputs);
  }

  public Example withHalVersion(String value) {
    Optional<String> version = Optional.of(value);
    return copy(name, version, expectFailure, main, referenced, inputs, expectedOutputs);
  }

  public Example withMain(RawSubgraph value) {
    return withGraphs(value, referenced);
  }

  public Example withGraphs(RawSubgraph mainGraph, List<RawSubgraph> others) {
    return copy(name, halVersion, expectFailure, mainGraph, others, inputs, expectedOutputs);
  }

  public Example withData(List<Input> inputValues, List<ExpectedOutput> outputValues) {
    return copy(name, halVersion, expectFailure, main, referenced, inputValues, outputValues);
  }

  public Example withExpectFailure(boolean value) {
    return copy(name, halVersion, value, main, referenced, inputs, expectedOutputs);
  }

  /**
   * The typed form. The caller owns it, and closes it once nothing uses its model any more.
   *
   * @throws VectorFormatException where the raw form holds what typed objects cannot, or what is
   *     wrong in the raw form only: an unknown type or lifetime, an index of nothing, a wrong count
   *     of consumers, values that do not fill their operand or exceed its type
   */
  public DecodedExample decode() throws VectorFormatException {
    return new ExampleDecoder(this).decode();
  }

  /** The value of one input; no values where an optional input is left out. */
  public record Input(int operand, Values values) {
    public Input {
      Objects.requireNonNull(values, "values");
    }
  }

  /**
   * The value expected of one output; no values where the result has no elements.
   *
   * @param ignored whether any value will do
   */
  public record ExpectedOutput(int operand, boolean ignored, Values values) {
    public ExpectedOutput {
      Objects.requireNonNull(values, "values");
    }
  }

  /** A result to be expected: its dimensions and its bytes, little-endian, row-major. */
  public record Result(Shape shape, MemorySegment bytes) {
    public Result {
      Objects.requireNonNull(shape, "shape");
      Objects.requireNonNull(bytes, "bytes");
    }
  }
}
