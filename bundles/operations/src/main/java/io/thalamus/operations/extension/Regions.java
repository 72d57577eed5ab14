// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.FLOAT32;
import static io.thalamus.model.OperandCode.INT32;
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
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;

/** Operations on regions of an image: ROI_ALIGN. */
public final class Regions {
  private static final int BOXES = 1;
  private static final int IMAGE_OF_BOX = 2;
  private static final int HEIGHT = 3;
  private static final int WIDTH = 4;
  private static final int SAMPLES = 5;
  private static final int SCALE = 6;
  private static final int HALF_PIXEL = 7;
  private static final int LARGEST = 8;
  private static final int CORNERS = 4;

  private Regions() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
            ThalamusExtension.ROI_ALIGN,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.since(V1_2, TENSOR_FLOAT32)).rank(4),
                    argument("boxes", T).rank(2),
                    argument("image of box", TENSOR_INT32).rank(1),
                    argument("output height", INT32),
                    argument("output width", INT32),
                    argument("samples", INT32),
                    argument("scale", FLOAT32),
                    argument("half pixel", BOOL),
                    argument("largest", BOOL))
                .outputs(argument("output", T)),
            Regions::shapes,
            Regions::parameters));
  }

  /**
   * The parameters of ROI_ALIGN.
   *
   * @param samples along each axis of a cell; 0 for as many as the cell has pixels
   * @param scale pixels here for each one that the boxes count
   * @param isHalfPixel whether boxes count from the corner of a pixel, not from its middle; if not,
   *     a region has at least one pixel
   * @param isLargest whether a cell is the largest of its weighted pixels, not the mean of its
   *     samples
   */
  public record AlignParameters(int samples, float scale, boolean isHalfPixel, boolean isLargest)
      implements OperationParameters {}

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    Shape boxes = operation.input(BOXES).shape();
    int height = operation.input(HEIGHT).int32();
    int width = operation.input(WIDTH).int32();
    if (boxes.dimension(1) != CORNERS
        || operation.input(IMAGE_OF_BOX).shape().dimension(0) != boxes.dimension(0)) {
      throw new ValidationException(
          "boxes %s of images %s do not fit"
              .formatted(boxes, operation.input(IMAGE_OF_BOX).shape()));
    }
    if (height <= 0 || width <= 0 || input.elementCount() == 0) {
      throw new ValidationException(
          "regions of " + input + " cannot become " + height + "x" + width);
    }
    return List.of(Shape.of(boxes.dimension(0), height, width, input.dimension(3)));
  }

  private static AlignParameters parameters(OperationView operation) throws ValidationException {
    AlignParameters parameters =
        new AlignParameters(
            operation.input(SAMPLES).int32(),
            operation.input(SCALE).float32(),
            operation.input(HALF_PIXEL).bool(),
            operation.input(LARGEST).bool());
    if (parameters.samples() < 0) {
      throw new ValidationException("samples must not be negative: " + parameters);
    }
    return parameters;
  }
}
