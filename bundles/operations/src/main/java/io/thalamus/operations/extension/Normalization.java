// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.BIAS;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.Check;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;

/** Operations that bring elements to a common size: LAYER_NORMALIZATION. */
public final class Normalization {
  private static final int SCALE = 1;
  private static final int BIAS = 2;
  private static final int AXIS = 3;
  private static final int EPSILON = 4;

  private Normalization() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                ThalamusExtension.LAYER_NORMALIZATION,
                Signature.since(V1_2)
                    .inputs(
                        data("input", TypeLevels.floats(V1_2)),
                        argument("scale", T),
                        argument("bias", T).omittable(),
                        argument("axis", INT32),
                        argument("epsilon", REAL))
                    .outputs(argument("output", T).shapedAs("input")),
                Normalization::shapes,
                Normalization::parameters)
            .checkedBy(Normalization::check));
  }

  /**
   * The parameters of LAYER_NORMALIZATION: {@code output = (input - mean) / sqrt(variance +
   * epsilon) * scale + bias}, with mean and variance of each group.
   *
   * @param groups how many groups there are, one after the other
   * @param groupSize elements that are normalized together
   * @param epsilon added to the variance
   */
  public record Groups(int groups, int groupSize, float epsilon) implements OperationParameters {}

  private static void check(OperationView operation, Check check) throws ValidationException {
    if (operation.input(0).isShapeKnown()) {
      checkFactor(operation, SCALE);
      checkFactor(operation, BIAS);
    }
  }

  /** A factor that is there is repeated to the shape of the data, and no larger than that. */
  private static void checkFactor(OperationView operation, int input) throws ValidationException {
    if (operation.has(input) && operation.input(input).isShapeKnown()) {
      Shape data = operation.input(0).shape();
      if (!Broadcast.shape(data, operation.input(input).shape()).equals(data)) {
        throw new ValidationException(
            "input " + input + ", " + operation.input(input).shape() + ", exceeds " + data);
      }
    }
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    checkFactor(operation, SCALE);
    checkFactor(operation, BIAS);
    return List.of(operation.input(0).shape());
  }

  private static Groups parameters(OperationView operation) throws ValidationException {
    Shape data = operation.input(0).shape();
    int axis = axis(operation.input(AXIS).int32(), data.rank());
    int groups = 1;
    int groupSize = 1;
    for (int i = 0; i < data.rank(); i++) {
      if (i < axis) {
        groups = Math.multiplyExact(groups, data.dimension(i));
      } else {
        groupSize = Math.multiplyExact(groupSize, data.dimension(i));
      }
    }
    float epsilon = operation.input(EPSILON).float32();
    if (!(epsilon >= 0)) {
      throw new ValidationException("what is added to the variance is " + epsilon);
    }
    return new Groups(groups, groupSize, epsilon);
  }
}
