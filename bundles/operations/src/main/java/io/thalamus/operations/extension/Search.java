// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.Shape;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.Trait;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;

/**
 * Operations that give as many elements as they find: NON_ZERO, UNIQUE, NON_MAX_SUPPRESSION. Their
 * outputs are measured.
 */
public final class Search {
  private static final int SCORES = 1;
  private static final int CENTERED = 5;
  private static final int CORNERS = 4;

  private Search() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                ThalamusExtension.NON_ZERO,
                Signature.since(V1_2)
                    .inputs(
                        data(
                            "input",
                            TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_BOOL8)),
                        argument("by axis", BOOL))
                    .outputs(argument("output", TENSOR_INT32)),
                Search::placeShapes,
                operation -> new PlaceParameters(operation.input(1).bool()),
                Trait.DISCONTINUOUS)
            .measured(),
        new FunctionDefinition(
                ThalamusExtension.UNIQUE,
                Signature.since(V1_2)
                    .inputs(
                        data("input", TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_INT32)).rank(1),
                        argument("sorted", BOOL))
                    .outputs(
                        argument("output", T),
                        argument("first places", TENSOR_INT32),
                        argument("inverse", TENSOR_INT32),
                        argument("counts", TENSOR_INT32)),
                Search::uniqueShapes,
                operation -> new UniqueParameters(operation.input(1).bool()),
                Trait.DISCONTINUOUS)
            .measured(),
        new FunctionDefinition(
                ThalamusExtension.NON_MAX_SUPPRESSION,
                Signature.since(V1_2)
                    .inputs(
                        data("boxes", TypeLevels.since(V1_2, TENSOR_FLOAT32)).rank(3),
                        argument("scores", T).rank(3),
                        argument("most of class", TENSOR_INT32).rank(1),
                        argument("overlap threshold", T).rank(1),
                        argument("score threshold", T).rank(1),
                        argument("centered", BOOL))
                    .outputs(argument("output", TENSOR_INT32)),
                Search::suppressionShapes,
                Search::suppressionParameters,
                Trait.DISCONTINUOUS)
            .inferredOnceKnown(0, 1, 2, 3, 4)
            .measured());
  }

  /**
   * The parameters of NON_ZERO.
   *
   * @param isByAxis whether all indexes along an axis stand together, not all of an element
   */
  public record PlaceParameters(boolean isByAxis) implements OperationParameters {}

  /**
   * The parameters of UNIQUE.
   *
   * @param isSorted whether the elements come in ascending order, not in that of their appearance
   */
  public record UniqueParameters(boolean isSorted) implements OperationParameters {}

  /**
   * The parameters of NON_MAX_SUPPRESSION.
   *
   * @param isCentered whether a box is [x, y, width, height] about its center, not two corners
   */
  public record SuppressionParameters(int images, int classes, int boxes, boolean isCentered)
      implements OperationParameters {}

  private static List<Shape> placeShapes(OperationView operation) {
    int rank = operation.input(0).shape().rank();
    return List.of(operation.input(1).bool() ? Shape.of(rank, 0) : Shape.of(0, rank));
  }

  private static List<Shape> uniqueShapes(OperationView operation) {
    Shape open = Shape.of(0);
    return List.of(open, open, operation.input(0).shape(), open);
  }

  private static List<Shape> suppressionShapes(OperationView operation) throws ValidationException {
    Shape boxes = operation.input(0).shape();
    Shape scores = operation.input(SCORES).shape();
    boolean fits =
        boxes.dimension(2) == CORNERS
            && scores.dimension(0) == boxes.dimension(0)
            && scores.dimension(2) == boxes.dimension(1);
    if (!fits) {
      throw new ValidationException("boxes %s and scores %s do not fit".formatted(boxes, scores));
    }
    for (int i = SCORES + 1; i < CENTERED; i++) {
      if (operation.input(i).shape().dimension(0) != 1) {
        throw new ValidationException("its limits are not one number each");
      }
    }
    return List.of(Shape.of(0, CORNERS - 1));
  }

  private static SuppressionParameters suppressionParameters(OperationView operation) {
    Shape scores = operation.input(SCORES).shape();
    return new SuppressionParameters(
        scores.dimension(0),
        scores.dimension(1),
        scores.dimension(2),
        operation.input(CENTERED).bool());
  }
}
