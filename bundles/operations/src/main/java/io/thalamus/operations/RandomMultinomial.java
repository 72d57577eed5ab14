// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * RANDOM_MULTINOMIAL, a member of the family {@link Selection}: draws classes by chance, given the
 * logarithms of their unnormalized probabilities.
 */
public final class RandomMultinomial extends NamedDefinition {
  private static final int SAMPLES = 1;
  private static final int SEEDS = 2;

  RandomMultinomial() {
    super(OperationCode.RANDOM_MULTINOMIAL);
  }

  static List<OperationDefinition> definitions() {
    return List.of(new RandomMultinomial());
  }

  /** The parameters: sizes, and how many classes are drawn for each batch. */
  public record Parameters(int batches, int classes, int samples) implements OperationParameters {}

  @Override
  public TypeLevels types() {
    return TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);
  }

  @Override
  public FeatureLevel validate(OperationView operation) throws ValidationException {
    Check check = check(operation, V1_2, 3, 1);
    check.inputType(0, types());
    check.inputRank(0, 2, 2);
    check.inputType(SAMPLES, OperandCode.INT32);
    check.inputType(SEEDS, TENSOR_INT32).inputRank(SEEDS, 1, 1);
    return check.outputType(0, TENSOR_INT32).level();
  }

  @Override
  public List<Shape> infer(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int samples = operation.input(SAMPLES).int32();
    Recurrent.require(operation, SEEDS, 2);
    if (samples <= 0 || input.dimension(1) == 0) {
      throw new ValidationException(
          samples + " samples cannot be drawn from " + input.dimension(1) + " classes");
    }
    return List.of(Shape.of(input.dimension(0), samples));
  }

  @Override
  public OperationParameters resolve(OperationView operation) {
    Shape input = operation.input(0).shape();
    return new Parameters(input.dimension(0), input.dimension(1), operation.input(SAMPLES).int32());
  }
}
