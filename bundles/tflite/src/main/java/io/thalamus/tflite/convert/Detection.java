// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import com.google.flatbuffers.FlexBuffers;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import java.util.List;

/**
 * Boxes from anchors and scores: the custom operator of the object detection models.
 *
 * <p>It dequantizes its inputs itself, and gives classes and count as floats; NNAPI works on floats
 * and gives integers.
 */
final class Detection {
  private static final String NAME = "TFLite_Detection_PostProcess";
  private static final int COORDINATES = 4;

  /** The operator's own default where the settings say nothing. */
  private static final int DETECTIONS_PER_CLASS = 100;

  private Detection() {}

  static void addTo(Converters table) {
    table.addCustom(NAME, Detection::postProcess);
  }

  private static void postProcess(Node node) {
    FlexBuffers.Map options = node.namedOptions();
    Settings settings = node.get(() -> Settings.of(options));
    Shape scoresShape = node.shapeOf(1);
    node.require(
        scoresShape.rank() == 3
            && (scoresShape.dimension(2) == settings.classes
                || scoresShape.dimension(2) == settings.classes + 1L),
        "its scores have shape " + scoresShape + " for " + settings.classes + " classes");
    node.require(
        settings.regular || settings.classesPerDetection == 1,
        "it gives " + settings.classesPerDetection + " classes for each box; NNAPI gives one");
    int boxes = reals(node, 0);
    int scores = reals(node, 1);
    if (scoresShape.dimension(2) == settings.classes) {
      scores = withBackground(node, scores, scoresShape);
    }
    int anchors = reals(node, 2);
    int batch = scoresShape.dimension(0);
    int most = settings.detections;
    node.require(most > 0, "it gives " + most + " detections");
    int outBoxes = out(node, 0, Shape.of(batch, most, COORDINATES));
    int outClasses = out(node, 1, Shape.of(batch, most));
    int outScores = out(node, 2, Shape.of(batch, most));
    int outCount = out(node, 3, Shape.of(batch));
    int classes = integers(node, Shape.of(batch, most));
    int count = integers(node, Shape.of(batch));
    node.emit(
        OperationCode.DETECTION_POSTPROCESSING,
        List.of(
            scores,
            boxes,
            anchors,
            node.float32(settings.scaleY),
            node.float32(settings.scaleX),
            node.float32(settings.scaleHeight),
            node.float32(settings.scaleWidth),
            node.bool(settings.regular),
            node.int32(most),
            node.int32(settings.classesPerDetection),
            node.int32(settings.detectionsPerClass),
            // No score is negative; NNAPI wants to hear of no other threshold either.
            node.float32(Math.max(0, settings.scoreThreshold)),
            node.float32(settings.overlapThreshold),
            node.bool(false)),
        List.of(outScores, outBoxes, classes, count));
    node.emit(OperationCode.CAST, outClasses, classes);
    node.emit(OperationCode.CAST, outCount, count);
  }

  /** NNAPI counts the background as the first class; it takes no part in anything. */
  private static int withBackground(Node node, int scores, Shape shape) {
    return node.compute(
        OperationCode.PAD,
        node.operand(scores),
        shape.with(2, shape.dimension(2) + 1),
        scores,
        node.int32Tensor(Shape.of(3, 2), 0, 0, 0, 0, 1, 0));
  }

  private static int reals(Node node, int input) {
    FlatTensor tensor = node.input(input);
    return tensor.isConstant()
        ? node.inFloats(input)
        : FloatFallback.dequantized(node, node.in(input));
  }

  private static int out(Node node, int output, Shape shape) {
    return node.out(output, OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
  }

  private static int integers(Node node, Shape shape) {
    return node.temporary(OperandCode.TENSOR_INT32, shape, Quantization.NONE);
  }

  private record Settings(
      int detections,
      int classesPerDetection,
      int detectionsPerClass,
      boolean regular,
      float scoreThreshold,
      float overlapThreshold,
      int classes,
      float scaleY,
      float scaleX,
      float scaleHeight,
      float scaleWidth) {
    static Settings of(FlexBuffers.Map map) {
      FlexBuffers.Reference perClass = map.get("detections_per_class");
      return new Settings(
          map.get("max_detections").asInt(),
          map.get("max_classes_per_detection").asInt(),
          perClass.isNull() ? DETECTIONS_PER_CLASS : perClass.asInt(),
          map.get("use_regular_nms").asBoolean(),
          (float) map.get("nms_score_threshold").asFloat(),
          (float) map.get("nms_iou_threshold").asFloat(),
          map.get("num_classes").asInt(),
          (float) map.get("y_scale").asFloat(),
          (float) map.get("x_scale").asFloat(),
          (float) map.get("h_scale").asFloat(),
          (float) map.get("w_scale").asFloat());
    }
  }
}
