// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * Operations on boxes and their scores: AXIS_ALIGNED_BBOX_TRANSFORM, BOX_WITH_NMS_LIMIT,
 * GENERATE_PROPOSALS, DETECTION_POSTPROCESSING. Boxes are [x1, y1, x2, y2] but in the last one. The
 * operations on regions of an image are in {@link Regions}.
 */
public final class Detection {
  /** Coordinates of a box. */
  static final int CORNERS = 4;

  /** How boxes are quantized in 16 bits: to an eighth of a cell. */
  static final Quantization EIGHTHS = Quantization.of(0.125f, 0);

  private static final TypeLevels FLOATS = TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);
  private static final TypeLevels ALL =
      FLOATS.andSince(V1_2, TENSOR_QUANT8_ASYMM).andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

  private Detection() {}

  static List<OperationDefinition> definitions() {
    return List.of(new BoxTransform(), new NmsLimit(), new Proposals(), new Postprocessing());
  }

  /**
   * The parameters of AXIS_ALIGNED_BBOX_TRANSFORM.
   *
   * @param images the number of images that boxes may belong to
   */
  public record TransformParameters(int boxes, int classes, int images)
      implements OperationParameters {}

  /** How much of its score a box keeps beside a better one. */
  public enum Suppression {
    /** All or nothing, by the threshold. */
    HARD,
    /** From the threshold on, the part that does not overlap. */
    LINEAR,
    /** {@code e^(-overlap^2 / sigma)}. */
    GAUSSIAN
  }

  /**
   * The parameters of BOX_WITH_NMS_LIMIT.
   *
   * @param scoreThreshold scores up to this are dropped beforehand
   * @param mostDetections for each image; negative for all
   * @param sigma of the Gaussian suppression
   * @param suppressedThreshold scores below this are dropped after suppression
   */
  public record NmsParameters(
      int boxes,
      int classes,
      float scoreThreshold,
      int mostDetections,
      Suppression suppression,
      float overlapThreshold,
      float sigma,
      float suppressedThreshold)
      implements OperationParameters {}

  /**
   * The parameters of GENERATE_PROPOSALS.
   *
   * @param layout of scores and deltas
   * @param mostBefore best boxes that are looked at; none or negative for all
   * @param mostAfter best boxes that are given for each image; negative for all
   * @param leastSize boxes must be wider and higher than this
   */
  public record ProposalParameters(
      DataLayout layout,
      int images,
      int height,
      int width,
      int anchors,
      float heightStride,
      float widthStride,
      int mostBefore,
      int mostAfter,
      float overlapThreshold,
      float leastSize)
      implements OperationParameters {}

  /**
   * The parameters of DETECTION_POSTPROCESSING.
   *
   * @param encodingLength numbers of the encoding of a box, of which four are used
   * @param isRegular whether boxes are suppressed class by class, not by their best class
   * @param mostClasses classes given for each box where not regular
   * @param mostOfClass boxes of each class where regular
   * @param isBackgroundLabelled whether class 0 counts in the labels
   * @param detections rows of the output for each image
   */
  public record PostprocessingParameters(
      int images,
      int anchors,
      int classes,
      int encodingLength,
      float scaleY,
      float scaleX,
      float scaleHeight,
      float scaleWidth,
      boolean isRegular,
      int mostDetections,
      int mostClasses,
      int mostOfClass,
      float scoreThreshold,
      float overlapThreshold,
      boolean isBackgroundLabelled,
      int detections)
      implements OperationParameters {}

  static boolean isQuantized(OperandCode type) {
    return type == TENSOR_QUANT8_ASYMM || type == TENSOR_QUANT8_ASYMM_SIGNED;
  }

  /** The scalar type of real arguments beside data of this type. */
  static OperandCode scalar(OperandCode data) {
    return data == TENSOR_FLOAT16 ? OperandCode.FLOAT16 : OperandCode.FLOAT32;
  }

  /** Boxes beside data of this type. */
  static OperandCode boxes(OperandCode data) {
    return isQuantized(data) ? TENSOR_QUANT16_ASYMM : data;
  }

  static void checkEighths(Check check, OperandView boxes) throws ValidationException {
    check.that(
        boxes.type() != TENSOR_QUANT16_ASYMM || boxes.quantization().equals(EIGHTHS),
        "boxes must have scale 0.125 and zero point 0, not " + boxes.quantization());
  }

  private static void require(boolean condition, String broken) throws ValidationException {
    if (!condition) {
      throw new ValidationException(broken);
    }
  }

  private static final class BoxTransform extends NamedDefinition {
    private static final int DELTAS = 1;
    private static final int IMAGE_OF_BOX = 2;
    private static final int IMAGES = 3;

    BoxTransform() {
      super(OperationCode.AXIS_ALIGNED_BBOX_TRANSFORM);
    }

    @Override
    public TypeLevels types() {
      return FLOATS.andSince(V1_2, TENSOR_QUANT16_ASYMM);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 4, 1);
      OperandCode data = check.inputType(0, types());
      if (data == TENSOR_QUANT16_ASYMM) {
        check.inputType(
            DELTAS,
            TypeLevels.since(V1_2, TENSOR_QUANT8_ASYMM).andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED));
      } else {
        check.inputType(DELTAS, data);
      }
      check.inputType(IMAGE_OF_BOX, TENSOR_INT32).inputType(IMAGES, data).outputType(0, data);
      check.inputRank(0, 2, 2).inputRank(DELTAS, 2, 2);
      check.inputRank(IMAGE_OF_BOX, 1, 1).inputRank(IMAGES, 2, 2);
      checkEighths(check, operation.input(0));
      checkEighths(check, operation.input(IMAGES));
      checkEighths(check, operation.output());
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      int boxes = operation.input(0).shape().dimension(0);
      Shape deltas = operation.input(DELTAS).shape();
      int images = operation.input(IMAGES).shape().dimension(0);
      require(
          deltas.dimension(1) > 0 && deltas.dimension(1) % CORNERS == 0,
          "deltas " + deltas + " are not four for each class");
      require(images > 0, "there is no image");
      Recurrent.require(operation, 0, boxes, CORNERS);
      Recurrent.require(operation, DELTAS, boxes, deltas.dimension(1));
      Recurrent.require(operation, IMAGE_OF_BOX, boxes);
      Recurrent.require(operation, IMAGES, images, 2);
      return List.of(deltas);
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      Shape deltas = operation.input(DELTAS).shape();
      return new TransformParameters(
          deltas.dimension(0),
          deltas.dimension(1) / CORNERS,
          operation.input(IMAGES).shape().dimension(0));
    }
  }

  private static final class NmsLimit extends NamedDefinition {
    private static final int BOXES = 1;
    private static final int IMAGE_OF_BOX = 2;
    private static final int KERNEL = 5;

    NmsLimit() {
      super(OperationCode.BOX_WITH_NMS_LIMIT);
    }

    @Override
    public TypeLevels types() {
      return ALL;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 9, 4);
      OperandCode data = check.inputType(0, types());
      OperandCode real = scalar(data);
      check.inputType(BOXES, boxes(data)).inputType(IMAGE_OF_BOX, TENSOR_INT32);
      check.inputType(3, real).inputType(4, OperandCode.INT32).inputType(5, OperandCode.INT32);
      check.inputType(6, real).inputType(7, real).inputType(8, real);
      check.outputType(0, data).outputType(1, boxes(data));
      check.outputType(2, TENSOR_INT32).outputType(3, TENSOR_INT32);
      check.inputRank(0, 2, 2).inputRank(BOXES, 2, 2).inputRank(IMAGE_OF_BOX, 1, 1);
      checkEighths(check, operation.input(BOXES));
      checkEighths(check, operation.output(1));
      return check.sameQuantization(operation.input(0), operation.output(0)).level();
    }

    @Override
    public boolean areShapesMeasured() {
      return true;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape scores = operation.input(0).shape();
      require(scores.dimension(1) > 1, "there is no class beside the background");
      Recurrent.require(operation, BOXES, scores.dimension(0), CORNERS * scores.dimension(1));
      Recurrent.require(operation, IMAGE_OF_BOX, scores.dimension(0));
      return List.of(Shape.of(0), Shape.of(0, CORNERS), Shape.of(0), Shape.of(0));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      Shape scores = operation.input(0).shape();
      int kernel = operation.input(KERNEL).int32();
      require(
          kernel >= 0 && kernel < Suppression.values().length,
          "there is no kernel " + kernel + " of suppression");
      return new NmsParameters(
          scores.dimension(0),
          scores.dimension(1),
          operation.input(3).float32(),
          operation.input(4).int32(),
          Suppression.values()[kernel],
          operation.input(6).float32(),
          operation.input(7).float32(),
          operation.input(8).float32());
    }
  }

  private static final class Proposals extends NamedDefinition {
    private static final int DELTAS = 1;
    private static final int ANCHORS = 2;
    private static final int IMAGES = 3;
    private static final int LAYOUT = 10;

    Proposals() {
      super(OperationCode.GENERATE_PROPOSALS);
    }

    @Override
    public TypeLevels types() {
      return ALL;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 11, 3);
      OperandCode data = check.inputType(0, types());
      OperandCode real = scalar(data);
      check.inputType(DELTAS, data);
      check.inputType(ANCHORS, isQuantized(data) ? TENSOR_QUANT16_SYMM : data);
      check.inputType(IMAGES, boxes(data)).inputType(4, real).inputType(5, real);
      check.inputType(6, OperandCode.INT32).inputType(7, OperandCode.INT32);
      check.inputType(8, real).inputType(9, real).inputType(LAYOUT, OperandCode.BOOL);
      check.outputType(0, data).outputType(1, boxes(data)).outputType(2, TENSOR_INT32);
      check.inputRank(0, 4, 4).inputRank(DELTAS, 4, 4);
      check.inputRank(ANCHORS, 2, 2).inputRank(IMAGES, 2, 2);
      checkEighths(check, operation.input(IMAGES));
      checkEighths(check, operation.output(1));
      check.that(
          !isQuantized(data) || operation.input(ANCHORS).scale() == 0.125f,
          "anchors must have scale 0.125");
      return check.sameQuantization(operation.input(0), operation.output(0)).level();
    }

    @Override
    public boolean areShapesMeasured() {
      return true;
    }

    private static DataLayout layout(OperationView operation) {
      return DataLayout.of(operation.input(LAYOUT).bool());
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      DataLayout layout = layout(operation);
      Shape scores = operation.input(0).shape();
      int images = scores.dimension(0);
      int anchors = layout.channels(scores);
      Shape deltas =
          layout.shape(images, layout.height(scores), layout.width(scores), CORNERS * anchors);
      Recurrent.require(operation, DELTAS, deltas.toArray());
      Recurrent.require(operation, ANCHORS, anchors, CORNERS);
      Recurrent.require(operation, IMAGES, images, 2);
      return List.of(Shape.of(0), Shape.of(0, CORNERS), Shape.of(0));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      DataLayout layout = layout(operation);
      Shape scores = operation.input(0).shape();
      return new ProposalParameters(
          layout,
          scores.dimension(0),
          layout.height(scores),
          layout.width(scores),
          layout.channels(scores),
          operation.input(4).float32(),
          operation.input(5).float32(),
          operation.input(6).int32(),
          operation.input(7).int32(),
          operation.input(8).float32(),
          operation.input(9).float32());
    }
  }

  private static final class Postprocessing extends NamedDefinition {
    private static final int DELTAS = 1;
    private static final int ANCHORS = 2;
    private static final int SCALES = 3;
    private static final int REGULAR = 7;
    private static final int MOST_DETECTIONS = 8;
    private static final int MOST_CLASSES = 9;
    private static final int MOST_OF_CLASS = 10;
    private static final int SCORE_THRESHOLD = 11;
    private static final int OVERLAP_THRESHOLD = 12;
    private static final int BACKGROUND = 13;

    Postprocessing() {
      super(OperationCode.DETECTION_POSTPROCESSING);
    }

    @Override
    public TypeLevels types() {
      return FLOATS;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 14, 4);
      OperandCode data = check.inputType(0, types());
      OperandCode real = scalar(data);
      check.inputType(DELTAS, data).inputType(ANCHORS, data);
      for (int i = SCALES; i < REGULAR; i++) {
        check.inputType(i, real);
      }
      check.inputType(REGULAR, OperandCode.BOOL);
      for (int i = MOST_DETECTIONS; i <= MOST_OF_CLASS; i++) {
        check.inputType(i, OperandCode.INT32);
      }
      check.inputType(SCORE_THRESHOLD, real).inputType(OVERLAP_THRESHOLD, real);
      check.inputType(BACKGROUND, OperandCode.BOOL);
      check.outputType(0, data).outputType(1, data);
      check.outputType(2, TENSOR_INT32).outputType(3, TENSOR_INT32);
      check.inputRank(0, 3, 3).inputRank(DELTAS, 3, 3).inputRank(ANCHORS, 2, 2);
      return check.level();
    }

    private static PostprocessingParameters parameters(OperationView operation)
        throws ValidationException {
      Shape scores = operation.input(0).shape();
      int encodingLength = operation.input(DELTAS).shape().dimension(2);
      Recurrent.require(
          operation, DELTAS, scores.dimension(0), scores.dimension(1), encodingLength);
      Recurrent.require(operation, ANCHORS, scores.dimension(1), CORNERS);
      boolean isRegular = operation.input(REGULAR).bool();
      int mostDetections = operation.input(MOST_DETECTIONS).int32();
      int mostClasses = operation.input(MOST_CLASSES).int32();
      int mostOfClass = operation.input(MOST_OF_CLASS).int32();
      require(scores.dimension(2) > 1, "there is no class beside the background");
      require(encodingLength >= CORNERS, "a box is encoded in " + encodingLength + " numbers");
      require(
          mostDetections > 0 && (isRegular ? mostOfClass > 0 : mostClasses > 0),
          "the numbers of detections and classes must be positive");
      for (int i = SCALES; i < REGULAR; i++) {
        require(operation.input(i).float32() > 0, "the scales of boxes must be positive");
      }
      require(
          operation.input(SCORE_THRESHOLD).float32() >= 0
              && operation.input(OVERLAP_THRESHOLD).float32() >= 0,
          "the thresholds must not be negative");
      return new PostprocessingParameters(
          scores.dimension(0),
          scores.dimension(1),
          scores.dimension(2),
          encodingLength,
          operation.input(SCALES).float32(),
          operation.input(SCALES + 1).float32(),
          operation.input(SCALES + 2).float32(),
          operation.input(SCALES + 3).float32(),
          isRegular,
          mostDetections,
          mostClasses,
          mostOfClass,
          operation.input(SCORE_THRESHOLD).float32(),
          operation.input(OVERLAP_THRESHOLD).float32(),
          operation.input(BACKGROUND).bool(),
          isRegular ? mostDetections : Math.multiplyExact(mostDetections, mostClasses));
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      PostprocessingParameters parameters = parameters(operation);
      int images = parameters.images();
      int detections = parameters.detections();
      return List.of(
          Shape.of(images, detections),
          Shape.of(images, detections, CORNERS),
          Shape.of(images, detections),
          Shape.of(images));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      return parameters(operation);
    }
  }
}
