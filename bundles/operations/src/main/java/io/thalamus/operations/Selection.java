// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;
import java.util.Optional;

/** Operations that choose elements by what they are: SELECT, ARGMAX, ARGMIN, TOPK_V2. */
public final class Selection {
  private static final TypeLevels TYPES = TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32);

  private Selection() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.SELECT,
                Signature.since(V1_2)
                    .inputs(
                        argument("condition", TENSOR_BOOL8),
                        data("input0", TYPES),
                        argument("input1", T))
                    .outputs(argument("output", T)),
                Selection::selectShapes,
                Selection::selectParameters,
                Trait.ELEMENTWISE)
            .checkedBy(Selection::checkSelect),
        extreme(OperationCode.ARGMAX),
        extreme(OperationCode.ARGMIN),
        new FunctionDefinition(
            OperationCode.TOPK_V2,
            Signature.since(V1_2)
                .inputs(data("input", TYPES), argument("k", INT32))
                .outputs(
                    argument("values", T).quantizedAs("input"), argument("indexes", TENSOR_INT32)),
            Selection::topShapes,
            Selection::topParameters,
            Trait.DISCONTINUOUS));
  }

  /**
   * The parameters of SELECT.
   *
   * @param first what happens to elements of the first tensor; empty where they stay what they are
   * @param second the same for the second tensor
   */
  public record Choice(Optional<LookupTable> first, Optional<LookupTable> second)
      implements OperationParameters {}

  /**
   * The parameters of ARGMAX and ARGMIN.
   *
   * @param outer elements in front of the axis
   * @param size elements along the axis
   * @param inner elements behind the axis
   */
  public record Axis(int outer, int size, int inner) implements OperationParameters {}

  /**
   * The parameters of TOPK_V2.
   *
   * @param rows the number of rows
   * @param rowLength the number of elements of each
   * @param k how many elements are taken from each
   */
  public record Top(int rows, int rowLength, int k) implements OperationParameters {}

  private static void checkSelect(OperationView operation, Check check) throws ValidationException {
    check.sameShape(operation.input(0), operation.input(1));
    check.sameShape(operation.input(1), operation.input(2));
  }

  private static List<Shape> selectShapes(OperationView operation) throws ValidationException {
    Shape shape = operation.input(0).shape();
    for (int i = 1; i <= 2; i++) {
      if (!operation.input(i).shape().equals(shape)) {
        throw new ValidationException(
            "shapes differ: " + shape + " and " + operation.input(i).shape());
      }
    }
    return List.of(shape);
  }

  private static Choice selectParameters(OperationView operation) {
    return new Choice(
        rescaling(operation.input(1), operation.output()),
        rescaling(operation.input(2), operation.output()));
  }

  private static Optional<LookupTable> rescaling(OperandView input, OperandView output) {
    return input.type() == TENSOR_INT32 || input.quantization().equals(output.quantization())
        ? Optional.empty()
        : Optional.of(Rescaling.requantize(input, output));
  }

  private static OperationDefinition extreme(OperationCode type) {
    return new FunctionDefinition(
        type,
        Signature.since(V1_2)
            .inputs(data("input", TYPES), argument("axis", INT32))
            .outputs(argument("output", TENSOR_INT32)),
        Selection::axisShapes,
        Selection::axisParameters,
        Trait.DISCONTINUOUS);
  }

  private static List<Shape> axisShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int axis = axis(operation.input(1).int32(), input.rank());
    if (input.dimension(axis) == 0) {
      throw new ValidationException("there is nothing to choose from along axis " + axis);
    }
    if (input.rank() == 1) {
      return List.of(Shape.of(1));
    }
    int[] dimensions = new int[input.rank() - 1];
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = input.dimension(i < axis ? i : i + 1);
    }
    return List.of(Shape.of(dimensions));
  }

  private static Axis axisParameters(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int axis = axis(operation.input(1).int32(), input.rank());
    return new Axis(
        Rearrange.count(input, 0, axis),
        input.dimension(axis),
        Rearrange.count(input, axis + 1, input.rank()));
  }

  private static List<Shape> topShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int last = input.rank() - 1;
    int k = operation.input(1).int32();
    if (k <= 0 || k > input.dimension(last)) {
      throw new ValidationException("there are no top " + k + " of rows of " + input);
    }
    Shape output = input.with(last, k);
    return List.of(output, output);
  }

  private static Top topParameters(OperationView operation) {
    Shape input = operation.input(0).shape();
    int last = input.rank() - 1;
    return new Top(
        Rearrange.count(input, 0, last), input.dimension(last), operation.input(1).int32());
  }
}
