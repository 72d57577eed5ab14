// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.Argument.fusedActivation;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.Elements;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One result for each window over two spatial axes: AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D. */
public final class Pooling {
  private Pooling() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        pool(OperationCode.AVERAGE_POOL_2D, TypeLevels.numbers(V1_0), V1_0, false),
        pool(OperationCode.MAX_POOL_2D, TypeLevels.numbers(V1_0), V1_0, false),
        pool(OperationCode.L2_POOL_2D, TypeLevels.floats(V1_0), V1_0, false));
  }

  /** An average of 8-bit integers whose ties go away from the middle of the type. */
  public static OperationDefinition centered(OperationType type) {
    return pool(type, TypeLevels.quantized8(), V1_2, true);
  }

  /**
   * The parameters of all poolings. Padding is never part of a result: only the cells that lie on
   * the input are averaged or compared.
   *
   * @param layout of input and output
   * @param height movement along the height
   * @param width movement along the width
   * @param activation the range of real results
   * @param stored the range of stored results; empty for float types
   * @param origin the stored value that ties of averages go away from: the least one, so that they
   *     go up, or the middle of the type; 0 for float types
   */
  public record Parameters(
      DataLayout layout,
      Window height,
      Window width,
      FusedActivation activation,
      Optional<IntRange> stored,
      int origin)
      implements OperationParameters {}

  /** Inputs: data, the window's arguments, filter width and height, activation, layout. */
  private static OperationDefinition pool(
      OperationType type, TypeLevels types, FeatureLevel since, boolean isCentered) {
    return new FunctionDefinition(
        type,
        Signature.since(since)
            .inputs(inputs(types, false))
            .inputs(inputs(types, true))
            .outputs(argument("output", T).quantizedAs("input")),
        operation -> shapes(operation, parameters(operation, isCentered)),
        operation -> parameters(operation, isCentered));
  }

  private static List<Argument> inputs(TypeLevels types, boolean isExplicit) {
    List<Argument> inputs = new ArrayList<>();
    inputs.add(data("input", types).rank(4));
    inputs.addAll(WindowArguments.signature(isExplicit));
    inputs.add(argument("filter width", INT32));
    inputs.add(argument("filter height", INT32));
    inputs.add(fusedActivation());
    inputs.add(argument("layout", BOOL).from(V1_2));
    return inputs;
  }

  private static WindowArguments arguments(OperationView operation) {
    return new WindowArguments(1, operation.inputs().size() >= 10);
  }

  private static List<Shape> shapes(OperationView operation, Parameters parameters)
      throws ValidationException {
    Shape input = operation.input(0).shape();
    DataLayout layout = parameters.layout();
    int channels = layout.channels(input);
    if (layout.height(input) == 0 || layout.width(input) == 0 || channels == 0) {
      throw new ValidationException("only the batch of " + input + " may be empty");
    }
    return List.of(
        layout.shape(
            input.dimension(0),
            parameters.height().positions(layout.height(input)),
            parameters.width().positions(layout.width(input)),
            channels));
  }

  private static Parameters parameters(OperationView operation, boolean isCentered)
      throws ValidationException {
    WindowArguments arguments = arguments(operation);
    int next = arguments.next();
    DataLayout layout = DataLayout.of(operation.bool(next + 3, false));
    Shape input = operation.input(0).shape();
    FusedActivation activation = FusedActivation.ofCode(operation.input(next + 2).int32());
    return new Parameters(
        layout,
        onInput(
            arguments.height(
                operation, layout.height(input), operation.input(next + 1).int32(), 1)),
        onInput(arguments.width(operation, layout.width(input), operation.input(next).int32(), 1)),
        activation,
        activation.storedRange(operation.output()),
        origin(operation.output().type(), isCentered));
  }

  private static int origin(OperandType type, boolean isCentered) {
    if (Elements.of(type).isFloat()) {
      return 0;
    }
    IntRange all = IntRange.of((OperandCode) type);
    return isCentered ? (all.min() + all.max() + 1) / 2 : all.min();
  }

  /** Each position of a window must have a cell on the input. */
  private static Window onInput(Window window) throws ValidationException {
    if (window.before() >= window.size() || window.after() >= window.size()) {
      throw new ValidationException(
          "padding %s and %s must be smaller than the window of %s"
              .formatted(window.before(), window.after(), window.size()));
    }
    return window;
  }
}
