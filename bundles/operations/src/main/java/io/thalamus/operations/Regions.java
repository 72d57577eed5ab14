// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;

/**
 * Members of the family {@link Detection} that work on regions of an image: ROI_ALIGN, ROI_POOLING,
 * HEATMAP_MAX_KEYPOINT.
 */
public final class Regions {
  private static final int BOXES = 1;
  private static final int IMAGE_OF_BOX = 2;
  private static final int HEIGHT = 3;
  private static final int WIDTH = 4;
  private static final int HEIGHT_STRIDE = 5;
  private static final int WIDTH_STRIDE = 6;
  private static final int HEIGHT_SAMPLES = 7;
  private static final int WIDTH_SAMPLES = 8;
  private static final int HEATMAP_LAYOUT = 2;

  private static final TypeLevels TYPES = TypeLevels.numbers(V1_2);

  private Regions() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        region(OperationCode.ROI_ALIGN),
        region(OperationCode.ROI_POOLING),
        new FunctionDefinition(
                OperationCode.HEATMAP_MAX_KEYPOINT,
                Signature.since(V1_2)
                    .inputs(
                        data("heatmaps", TYPES).rank(4),
                        argument("boxes", ArgumentType.BOXES).rank(2),
                        argument("layout", BOOL))
                    .outputs(argument("scores", T), argument("keypoints", ArgumentType.BOXES)),
                Regions::heatmapShapes,
                Regions::heatmapParameters,
                Trait.DISCONTINUOUS)
            .checkedBy(Regions::checkHeatmap));
  }

  /**
   * The parameters of ROI_ALIGN and ROI_POOLING.
   *
   * @param heightStride cells of the original image for each row here
   * @param widthStride cells of the original image for each column here
   * @param heightSamples samples along the height of a cell of the output, 0 for as many as fit;
   *     only ROI_ALIGN
   * @param widthSamples the same along the width
   */
  public record RegionParameters(
      DataLayout layout, float heightStride, float widthStride, int heightSamples, int widthSamples)
      implements OperationParameters {}

  /**
   * The parameters of HEATMAP_MAX_KEYPOINT.
   *
   * @param tolerance of a determinant that counts as 0, absolute and relative
   */
  public record HeatmapParameters(
      DataLayout layout, int boxes, int size, int keypoints, float tolerance)
      implements OperationParameters {}

  private static OperationDefinition region(OperationCode type) {
    boolean isAligned = type == OperationCode.ROI_ALIGN;
    return new FunctionDefinition(
            type,
            signature(isAligned),
            Regions::regionShapes,
            operation -> regionParameters(operation, isAligned))
        .checkedBy((operation, check) -> Detection.checkEighths(check, operation.input(BOXES)));
  }

  private static Signature signature(boolean isAligned) {
    List<Argument> inputs = new ArrayList<>();
    inputs.add(data("input", TYPES).rank(4));
    inputs.add(argument("boxes", ArgumentType.BOXES).rank(2));
    inputs.add(argument("image of box", TENSOR_INT32).rank(1));
    inputs.add(argument("output height", INT32));
    inputs.add(argument("output width", INT32));
    inputs.add(argument("height stride", REAL));
    inputs.add(argument("width stride", REAL));
    if (isAligned) {
      inputs.add(argument("height samples", INT32));
      inputs.add(argument("width samples", INT32));
    }
    inputs.add(argument("layout", BOOL));
    Argument output = argument("output", T);
    return Signature.since(V1_2)
        .inputs(inputs)
        .outputs(isAligned ? output : output.quantizedAs("input"));
  }

  /** The layout is the last argument. */
  private static DataLayout layout(OperationView operation) {
    return DataLayout.of(operation.inputs().getLast().bool());
  }

  private static List<Shape> regionShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int boxes = operation.input(BOXES).shape().dimension(0);
    int height = operation.input(HEIGHT).int32();
    int width = operation.input(WIDTH).int32();
    Recurrent.require(operation, BOXES, boxes, Detection.CORNERS);
    Recurrent.require(operation, IMAGE_OF_BOX, boxes);
    if (height <= 0 || width <= 0 || input.elementCount() == 0) {
      throw new ValidationException(
          "regions of " + input + " cannot become " + height + "x" + width);
    }
    DataLayout layout = layout(operation);
    return List.of(layout.shape(boxes, height, width, layout.channels(input)));
  }

  private static RegionParameters regionParameters(OperationView operation, boolean isAligned)
      throws ValidationException {
    RegionParameters parameters =
        new RegionParameters(
            layout(operation),
            operation.input(HEIGHT_STRIDE).float32(),
            operation.input(WIDTH_STRIDE).float32(),
            isAligned ? operation.input(HEIGHT_SAMPLES).int32() : 0,
            isAligned ? operation.input(WIDTH_SAMPLES).int32() : 0);
    if (!(parameters.heightStride() > 0)
        || !(parameters.widthStride() > 0)
        || parameters.heightSamples() < 0
        || parameters.widthSamples() < 0) {
      throw new ValidationException(
          "strides must be positive, samples not negative: " + parameters);
    }
    return parameters;
  }

  private static void checkHeatmap(OperationView operation, Check check)
      throws ValidationException {
    Detection.checkEighths(check, operation.input(BOXES));
    Detection.checkEighths(check, operation.output(1));
  }

  private static List<Shape> heatmapShapes(OperationView operation) throws ValidationException {
    Shape heatmap = operation.input(0).shape();
    DataLayout layout = DataLayout.of(operation.input(HEATMAP_LAYOUT).bool());
    int boxes = heatmap.dimension(0);
    int size = layout.height(heatmap);
    if (size < 2 || layout.width(heatmap) != size) {
      throw new ValidationException("a heatmap must be square and larger than a cell: " + heatmap);
    }
    Recurrent.require(operation, BOXES, boxes, Detection.CORNERS);
    int keypoints = layout.channels(heatmap);
    return List.of(Shape.of(boxes, keypoints), Shape.of(boxes, keypoints, 2));
  }

  private static HeatmapParameters heatmapParameters(OperationView operation) {
    Shape heatmap = operation.input(0).shape();
    DataLayout layout = DataLayout.of(operation.input(HEATMAP_LAYOUT).bool());
    return new HeatmapParameters(
        layout,
        heatmap.dimension(0),
        layout.height(heatmap),
        layout.channels(heatmap),
        operation.input(0).type() == TENSOR_FLOAT16 ? 1e-3f : 1e-5f);
  }
}
