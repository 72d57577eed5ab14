// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.QUANTIZED;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.ArgumentType.of;
import static io.thalamus.operations.NamedDefinition.isFloat;

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
  // Inputs of several operations.
  private static final int DELTAS = 1;
  private static final int ANCHORS = 2;
  private static final int IMAGE_OF_BOX = 2;

  // Inputs of DETECTION_POSTPROCESSING.
  private static final int SCALES = 3;
  private static final int REGULAR = 7;
  private static final int MOST_DETECTIONS = 8;
  private static final int MOST_CLASSES = 9;
  private static final int MOST_OF_CLASS = 10;
  private static final int SCORE_THRESHOLD = 11;
  private static final int OVERLAP_THRESHOLD = 12;
  private static final int BACKGROUND = 13;

  private static final int PROPOSAL_IMAGES = 3;
  private static final int PROPOSAL_LAYOUT = 10;

  private static final int NMS_BOXES = 1;
  private static final int NMS_KERNEL = 5;

  private static final int TRANSFORM_IMAGES = 3;

  /** Coordinates of a box. */
  static final int CORNERS = 4;

  /** The quantization of boxes in 16 bits: to an eighth of a cell. */
  static final Quantization EIGHTHS = Quantization.of(0.125f, 0);

  private static final TypeLevels FLOATS = TypeLevels.floats(V1_2);
  private static final TypeLevels ALL = TypeLevels.numbers(V1_2);

  private Detection() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.AXIS_ALIGNED_BBOX_TRANSFORM,
                Signature.since(V1_2)
                    .inputs(
                        data("boxes", FLOATS.andSince(V1_2, TENSOR_QUANT16_ASYMM)).rank(2),
                        argument(
                                "deltas",
                                T.when(ArgumentType.FLOATS)
                                    .or(of(TENSOR_QUANT8_ASYMM).unless(ArgumentType.FLOATS))
                                    .or(
                                        of(TENSOR_QUANT8_ASYMM_SIGNED)
                                            .from(V1_3)
                                            .unless(ArgumentType.FLOATS)))
                            .rank(2),
                        argument("image of box", TENSOR_INT32).rank(1),
                        argument("image sizes", T).rank(2))
                    .outputs(argument("output", T)),
                Detection::transformShapes,
                Detection::transformParameters)
            .checkedBy(Detection::checkTransform),
        new FunctionDefinition(
                OperationCode.BOX_WITH_NMS_LIMIT,
                Signature.since(V1_2)
                    .inputs(
                        data("scores", ALL).rank(2),
                        argument("boxes", ArgumentType.BOXES).rank(2),
                        argument("image of box", TENSOR_INT32).rank(1),
                        argument("score threshold", REAL),
                        argument("most detections", INT32),
                        argument("suppression", INT32),
                        argument("overlap threshold", REAL),
                        argument("sigma", REAL),
                        argument("suppressed threshold", REAL))
                    .outputs(
                        argument("scores", T).quantizedAs("scores"),
                        argument("boxes", ArgumentType.BOXES),
                        argument("classes", TENSOR_INT32),
                        argument("image of box", TENSOR_INT32)),
                Detection::nmsShapes,
                Detection::nmsParameters,
                Trait.DISCONTINUOUS)
            .checkedBy(Detection::checkNms)
            .measured(),
        new FunctionDefinition(
                OperationCode.GENERATE_PROPOSALS,
                Signature.since(V1_2)
                    .inputs(
                        data("scores", ALL).rank(4),
                        argument("deltas", T).rank(4),
                        argument(
                                "anchors",
                                T.unless(QUANTIZED).or(of(TENSOR_QUANT16_SYMM).when(QUANTIZED)))
                            .rank(2),
                        argument("image sizes", ArgumentType.BOXES).rank(2),
                        argument("height stride", REAL),
                        argument("width stride", REAL),
                        argument("most before suppression", INT32),
                        argument("most after suppression", INT32),
                        argument("overlap threshold", REAL),
                        argument("least size", REAL),
                        argument("layout", BOOL))
                    .outputs(
                        argument("scores", T).quantizedAs("scores"),
                        argument("boxes", ArgumentType.BOXES),
                        argument("image of box", TENSOR_INT32)),
                Detection::proposalShapes,
                Detection::proposalParameters,
                Trait.DISCONTINUOUS)
            .checkedBy(Detection::checkProposals)
            .measured(),
        new FunctionDefinition(
            OperationCode.DETECTION_POSTPROCESSING,
            Signature.since(V1_2)
                .inputs(
                    data("scores", FLOATS).rank(3),
                    argument("deltas", T).rank(3),
                    argument("anchors", T).rank(2),
                    argument("y scale", REAL),
                    argument("x scale", REAL),
                    argument("height scale", REAL),
                    argument("width scale", REAL),
                    argument("regular suppression", BOOL),
                    argument("most detections", INT32),
                    argument("most classes", INT32),
                    argument("most of class", INT32),
                    argument("score threshold", REAL),
                    argument("overlap threshold", REAL),
                    argument("background labelled", BOOL))
                .outputs(
                    argument("scores", T),
                    argument("boxes", T),
                    argument("classes", TENSOR_INT32),
                    argument("detections", TENSOR_INT32)),
            Detection::postprocessed,
            Detection::postprocessing,
            Trait.DISCONTINUOUS));
  }

  /**
   * The parameters of AXIS_ALIGNED_BBOX_TRANSFORM.
   *
   * @param images the number of images that boxes may belong to
   */
  public record TransformParameters(int boxes, int classes, int images)
      implements OperationParameters {}

  /** The part of its score that a box keeps beside a better one. */
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
      implements OperationParameters {
    /**
     * Writes a box as y1, x1, y2 and x2 from its encoding relative to y, x, height and width of an
     * anchor.
     *
     * @param delta where the encoding begins
     * @param anchor where the anchor begins
     * @param at where y1 is written
     * @param step from there to x1, and so on
     */
    public void decode(
        float[] deltas, int delta, float[] anchors, int anchor, float[] corners, int at, int step) {
      float height = anchors[anchor + 2];
      float width = anchors[anchor + 3];
      float centerY = anchors[anchor] + height * deltas[delta] / scaleY;
      float centerX = anchors[anchor + 1] + width * deltas[delta + 1] / scaleX;
      float growthY = (float) Math.exp(deltas[delta + 2] / scaleHeight);
      float growthX = (float) Math.exp(deltas[delta + 3] / scaleWidth);
      float halfHeight = height * growthY * 0.5f;
      float halfWidth = width * growthX * 0.5f;
      corners[at] = centerY - halfHeight;
      corners[at + step] = centerX - halfWidth;
      corners[at + 2 * step] = centerY + halfHeight;
      corners[at + 3 * step] = centerX + halfWidth;
    }

    /** Returns the boxes that are chosen of one class, or by their best ones, at most. */
    public int mostChosen() {
      int most = isRegular ? Math.min(mostOfClass, mostDetections) : mostDetections;
      return Math.min(most, anchors);
    }

    /** Returns the classes that are given for a box where not regular. */
    public int shownClasses() {
      return Math.min(classes - 1, mostClasses);
    }

    /** Returns the label of a class, of which the first is the background. */
    public int label(int index) {
      return isBackgroundLabelled ? index : index - 1;
    }
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

  private static void checkTransform(OperationView operation, Check check)
      throws ValidationException {
    checkEighths(check, operation.input(0));
    checkEighths(check, operation.input(TRANSFORM_IMAGES));
    checkEighths(check, operation.output());
  }

  private static List<Shape> transformShapes(OperationView operation) throws ValidationException {
    int boxes = operation.input(0).shape().dimension(0);
    Shape deltas = operation.input(DELTAS).shape();
    int images = operation.input(TRANSFORM_IMAGES).shape().dimension(0);
    require(
        deltas.dimension(1) > 0 && deltas.dimension(1) % CORNERS == 0,
        "deltas " + deltas + " are not four for each class");
    require(images > 0, "there is no image");
    Recurrent.require(operation, 0, boxes, CORNERS);
    Recurrent.require(operation, DELTAS, boxes, deltas.dimension(1));
    Recurrent.require(operation, IMAGE_OF_BOX, boxes);
    Recurrent.require(operation, TRANSFORM_IMAGES, images, 2);
    return List.of(deltas);
  }

  private static TransformParameters transformParameters(OperationView operation) {
    Shape deltas = operation.input(DELTAS).shape();
    return new TransformParameters(
        deltas.dimension(0),
        deltas.dimension(1) / CORNERS,
        operation.input(TRANSFORM_IMAGES).shape().dimension(0));
  }

  private static void checkNms(OperationView operation, Check check) throws ValidationException {
    checkEighths(check, operation.input(NMS_BOXES));
    checkEighths(check, operation.output(1));
  }

  private static List<Shape> nmsShapes(OperationView operation) throws ValidationException {
    Shape scores = operation.input(0).shape();
    require(scores.dimension(1) > 1, "there is no class beside the background");
    Recurrent.require(operation, NMS_BOXES, scores.dimension(0), CORNERS * scores.dimension(1));
    Recurrent.require(operation, IMAGE_OF_BOX, scores.dimension(0));
    return List.of(Shape.of(0), Shape.of(0, CORNERS), Shape.of(0), Shape.of(0));
  }

  private static NmsParameters nmsParameters(OperationView operation) throws ValidationException {
    Shape scores = operation.input(0).shape();
    int kernel = operation.input(NMS_KERNEL).int32();
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

  private static void checkProposals(OperationView operation, Check check)
      throws ValidationException {
    checkEighths(check, operation.input(PROPOSAL_IMAGES));
    checkEighths(check, operation.output(1));
    check.that(
        isFloat(operation.input(0)) || operation.input(ANCHORS).scale() == 0.125f,
        "anchors must have scale 0.125");
  }

  private static DataLayout layout(OperationView operation) {
    return DataLayout.of(operation.input(PROPOSAL_LAYOUT).bool());
  }

  private static List<Shape> proposalShapes(OperationView operation) throws ValidationException {
    DataLayout layout = layout(operation);
    Shape scores = operation.input(0).shape();
    int images = scores.dimension(0);
    int anchors = layout.channels(scores);
    Shape deltas =
        layout.shape(images, layout.height(scores), layout.width(scores), CORNERS * anchors);
    Recurrent.require(operation, DELTAS, deltas.toArray());
    Recurrent.require(operation, ANCHORS, anchors, CORNERS);
    Recurrent.require(operation, PROPOSAL_IMAGES, images, 2);
    return List.of(Shape.of(0), Shape.of(0, CORNERS), Shape.of(0));
  }

  private static ProposalParameters proposalParameters(OperationView operation) {
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

  private static PostprocessingParameters postprocessing(OperationView operation)
      throws ValidationException {
    Shape scores = operation.input(0).shape();
    int encodingLength = operation.input(DELTAS).shape().dimension(2);
    Recurrent.require(operation, DELTAS, scores.dimension(0), scores.dimension(1), encodingLength);
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

  private static List<Shape> postprocessed(OperationView operation) throws ValidationException {
    PostprocessingParameters parameters = postprocessing(operation);
    int images = parameters.images();
    int detections = parameters.detections();
    return List.of(
        Shape.of(images, detections),
        Shape.of(images, detections, CORNERS),
        Shape.of(images, detections),
        Shape.of(images));
  }
}
