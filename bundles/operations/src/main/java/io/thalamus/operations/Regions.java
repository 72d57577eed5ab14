// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * Members of the family {@link Detection} that work on regions of an image: ROI_ALIGN, ROI_POOLING,
 * HEATMAP_MAX_KEYPOINT.
 */
public final class Regions {
  private static final TypeLevels TYPES =
      TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM)
          .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

  private Regions() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Region(OperationCode.ROI_ALIGN), new Region(OperationCode.ROI_POOLING), new Heatmap());
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

  private static final class Region extends NamedDefinition {
    private static final int BOXES = 1;
    private static final int IMAGE_OF_BOX = 2;
    private static final int HEIGHT = 3;
    private static final int WIDTH = 4;
    private static final int HEIGHT_STRIDE = 5;
    private static final int WIDTH_STRIDE = 6;
    private static final int HEIGHT_SAMPLES = 7;
    private static final int WIDTH_SAMPLES = 8;

    private final boolean isAligned;
    private final int layoutIndex;

    Region(OperationCode type) {
      super(type);
      isAligned = type == OperationCode.ROI_ALIGN;
      layoutIndex = isAligned ? 9 : 7;
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, layoutIndex + 1, 1);
      OperandCode data = check.inputType(0, types());
      OperandCode real = Detection.scalar(data);
      check.inputType(BOXES, Detection.boxes(data)).inputType(IMAGE_OF_BOX, TENSOR_INT32);
      check.inputType(HEIGHT, OperandCode.INT32).inputType(WIDTH, OperandCode.INT32);
      check.inputType(HEIGHT_STRIDE, real).inputType(WIDTH_STRIDE, real);
      for (int i = HEIGHT_SAMPLES; i < layoutIndex; i++) {
        check.inputType(i, OperandCode.INT32);
      }
      check.inputType(layoutIndex, OperandCode.BOOL).outputType(0, data);
      check.inputRank(0, 4, 4).inputRank(BOXES, 2, 2).inputRank(IMAGE_OF_BOX, 1, 1);
      Detection.checkEighths(check, operation.input(BOXES));
      if (!isAligned) {
        check.sameQuantization(operation.input(0), operation.output());
      }
      return check.level();
    }

    private DataLayout layout(OperationView operation) {
      return DataLayout.of(operation.input(layoutIndex).bool());
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
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

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
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
  }

  private static final class Heatmap extends NamedDefinition {
    private static final int BOXES = 1;
    private static final int LAYOUT = 2;

    Heatmap() {
      super(OperationCode.HEATMAP_MAX_KEYPOINT);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 3, 2);
      OperandCode data = check.inputType(0, types());
      check.inputType(BOXES, Detection.boxes(data)).inputType(LAYOUT, OperandCode.BOOL);
      check.outputType(0, data).outputType(1, Detection.boxes(data));
      check.inputRank(0, 4, 4).inputRank(BOXES, 2, 2);
      Detection.checkEighths(check, operation.input(BOXES));
      Detection.checkEighths(check, operation.output(1));
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape heatmap = operation.input(0).shape();
      DataLayout layout = DataLayout.of(operation.input(LAYOUT).bool());
      int boxes = heatmap.dimension(0);
      int size = layout.height(heatmap);
      if (size < 2 || layout.width(heatmap) != size) {
        throw new ValidationException(
            "a heatmap must be square and larger than a cell: " + heatmap);
      }
      Recurrent.require(operation, BOXES, boxes, Detection.CORNERS);
      int keypoints = layout.channels(heatmap);
      return List.of(Shape.of(boxes, keypoints), Shape.of(boxes, keypoints, 2));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      Shape heatmap = operation.input(0).shape();
      DataLayout layout = DataLayout.of(operation.input(LAYOUT).bool());
      return new HeatmapParameters(
          layout,
          heatmap.dimension(0),
          layout.height(heatmap),
          layout.channels(heatmap),
          operation.input(0).type() == TENSOR_FLOAT16 ? 1e-3f : 1e-5f);
    }
  }
}
