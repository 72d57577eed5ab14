// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * RANDOM_MULTINOMIAL, a member of the family {@link Selection}: draws classes by chance, given the
 * logarithms of their unnormalized probabilities.
 */
public final class RandomMultinomial {
  private static final int SAMPLES = 1;
  private static final int SEEDS = 2;

  private RandomMultinomial() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
            OperationCode.RANDOM_MULTINOMIAL,
            Signature.since(V1_2)
                .inputs(
                    data("logits", TypeLevels.floats(V1_2)).rank(2),
                    argument("samples", INT32),
                    argument("seeds", TENSOR_INT32).rank(1))
                .outputs(argument("output", TENSOR_INT32)),
            RandomMultinomial::shapes,
            RandomMultinomial::parameters,
            Trait.RANDOM));
  }

  /** The parameters: sizes, and how many classes are drawn for each batch. */
  public record Parameters(int batches, int classes, int samples) implements OperationParameters {}

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int samples = operation.input(SAMPLES).int32();
    Recurrent.require(operation, SEEDS, 2);
    if (samples <= 0 || input.dimension(1) == 0) {
      throw new ValidationException(
          samples + " samples cannot be drawn from " + input.dimension(1) + " classes");
    }
    return List.of(Shape.of(input.dimension(0), samples));
  }

  private static Parameters parameters(OperationView operation) {
    Shape input = operation.input(0).shape();
    return new Parameters(input.dimension(0), input.dimension(1), operation.input(SAMPLES).int32());
  }
}
