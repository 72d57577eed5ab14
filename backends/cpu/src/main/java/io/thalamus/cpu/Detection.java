// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.cpu.Boxes.CORNERS;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Detection.NmsParameters;
import io.thalamus.operations.Detection.PostprocessingParameters;
import io.thalamus.operations.Detection.ProposalParameters;
import io.thalamus.operations.Detection.TransformParameters;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * Operations on boxes and their scores. All compute in float. They choose among boxes in arrays of
 * their own.
 */
public final class Detection {
  private Detection() {}

  static void register(KernelTable.Builder table) {
    table
        .add(
            OperationCode.AXIS_ALIGNED_BBOX_TRANSFORM,
            Detection::transform,
            TENSOR_FLOAT32,
            TENSOR_FLOAT16,
            TENSOR_QUANT16_ASYMM)
        .add(OperationCode.BOX_WITH_NMS_LIMIT, NmsLimit::new, ElementTypes.reals())
        .add(OperationCode.GENERATE_PROPOSALS, Proposals::new, ElementTypes.reals())
        .add(
            OperationCode.DETECTION_POSTPROCESSING,
            Detection::postprocessing,
            ElementTypes.floats());
  }

  /** All elements of an input. */
  private static float[] reals(
      WorkMeter work, OperationView operation, int input, MemorySegment segment) {
    RealElements elements = RealElements.of(operation.input(input));
    float[] reals = new float[Math.toIntExact(operation.input(input).shape().elementCount())];
    for (int i = 0; i < reals.length; i++) {
      work.done(1);
      reals[i] = elements.get(segment, i);
    }
    return reals;
  }

  /**
   * A box moved and stretched by four numbers, and cut at the borders of its image; see Girshick et
   * al., "Rich feature hierarchies" (2014), appendix C.
   */
  private static void transform(
      float[] boxes,
      int box,
      float[] deltas,
      int delta,
      float height,
      float width,
      float[] target) {
    int from = box * CORNERS;
    int by = delta * CORNERS;
    float boxWidth = boxes[from + 2] - boxes[from];
    float boxHeight = boxes[from + 3] - boxes[from + 1];
    float centerX = (boxes[from] + boxes[from + 2]) / 2 + deltas[by] * boxWidth;
    float centerY = (boxes[from + 1] + boxes[from + 3]) / 2 + deltas[by + 1] * boxHeight;
    float halfWidth = (float) Math.exp(deltas[by + 2]) * boxWidth / 2;
    float halfHeight = (float) Math.exp(deltas[by + 3]) * boxHeight / 2;
    target[by] = Math.min(Math.max(centerX - halfWidth, 0), width);
    target[by + 1] = Math.min(Math.max(centerY - halfHeight, 0), height);
    target[by + 2] = Math.min(Math.max(centerX + halfWidth, 0), width);
    target[by + 3] = Math.min(Math.max(centerY + halfHeight, 0), height);
  }

  private static Kernel transform(ResolvedOperation operation) {
    TransformParameters parameters = operation.parameters(TransformParameters.class);
    OperationView view = operation.view();
    RealElements results = RealElements.of(view.output());
    return (inputs, outputs, scratch, work) -> {
      float[] boxes = reals(work, view, 0, inputs[0]);
      float[] deltas = reals(work, view, 1, inputs[1]);
      float[] images = reals(work, view, 3, inputs[3]);
      float[] target = new float[deltas.length];
      for (int box = 0; box < parameters.boxes(); box++) {
        int image = imageOf(inputs[2], box, parameters.images());
        Boxes.check(boxes, box);
        for (int c = 0; c < parameters.classes(); c++) {
          work.done(1);
          int delta = box * parameters.classes() + c;
          transform(boxes, box, deltas, delta, images[2 * image], images[2 * image + 1], target);
        }
      }
      for (int i = 0; i < target.length; i++) {
        results.set(outputs[0], i, target[i]);
      }
    };
  }

  /**
   * Returns the image that a box belongs to.
   *
   * @throws KernelException if there is none of that number
   */
  public static int imageOf(MemorySegment imageOfBox, int box, int images) {
    int image = Elements.INT32.getInt(imageOfBox, box);
    if (image < 0 || image >= images) {
      throw new KernelException(
          "box " + box + " belongs to image " + image + ", outside of [0, " + images + ")");
    }
    return image;
  }

  /**
   * Scratch memory: the number of detections, then for each the index of its score and what the
   * score is by now.
   */
  private record NmsLimit(NmsParameters parameters, OperationView view) implements Kernel {
    NmsLimit(ResolvedOperation operation) {
      this(operation.parameters(NmsParameters.class), operation.view());
    }

    @Override
    public long scratchSize() {
      return Integer.BYTES * (1 + 2L * parameters.boxes() * parameters.classes());
    }

    @Override
    public List<Shape> measure(MemorySegment[] inputs, MemorySegment scratch, WorkMeter work) {
      int classes = parameters.classes();
      float[] scores = reals(work, view, 0, inputs[0]);
      float[] corners = reals(work, view, 1, inputs[1]);
      Boxes boxes = new Boxes(corners, scores, 1, work);
      Boxes.Rule rule =
          boxes.lowering(
              parameters.suppression(),
              parameters.overlapThreshold(),
              parameters.sigma(),
              parameters.suppressedThreshold());
      int[] chosen = new int[scores.length];
      int count = 0;
      int first = 0;
      // The boxes of an image stand together.
      while (first < parameters.boxes()) {
        int end = first;
        int image = Elements.INT32.getInt(inputs[2], first);
        while (end < parameters.boxes() && Elements.INT32.getInt(inputs[2], end) == image) {
          for (int c = 0; c < classes; c++) {
            Boxes.check(corners, end * classes + c);
          }
          end++;
        }
        int most = parameters.mostDetections();
        int found =
            boxes.suppressByClass(
                first * classes,
                end - first,
                classes,
                parameters.scoreThreshold(),
                most,
                most,
                rule,
                chosen);
        count = writeByClass(chosen, found, scores, scratch, count);
        first = end;
      }
      Elements.INT32.setInt(scratch, 0, count);
      return List.of(Shape.of(count), Shape.of(count, CORNERS), Shape.of(count), Shape.of(count));
    }

    /** Appends what was chosen for an image, class by class; within a class the order stays. */
    private int writeByClass(
        int[] chosen, int found, float[] scores, MemorySegment scratch, int count) {
      int next = count;
      for (int c = 1; c < parameters.classes(); c++) {
        for (int i = 0; i < found; i++) {
          if (chosen[i] % parameters.classes() == c) {
            Elements.INT32.setInt(scratch, 1 + 2L * next, chosen[i]);
            Elements.FLOAT32.setFloat(scratch, 2 + 2L * next, scores[chosen[i]]);
            next++;
          }
        }
      }
      return next;
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      RealElements scores = RealElements.of(view.output(0));
      DataMovement corners = DataMovement.of(view.output(1).type());
      Elements integers = Elements.INT32;
      int count = integers.getInt(scratch, 0);
      for (int i = 0; i < count; i++) {
        int score = integers.getInt(scratch, 1 + 2L * i);
        scores.set(outputs[0], i, Elements.FLOAT32.getFloat(scratch, 2 + 2L * i));
        corners.copy(
            work, inputs[1], (long) score * CORNERS, outputs[1], (long) i * CORNERS, CORNERS);
        integers.setInt(outputs[2], i, score % parameters.classes());
        int image = integers.getInt(inputs[2], score / parameters.classes());
        integers.setInt(outputs[3], i, image);
      }
    }
  }

  /** Scratch memory: the number of proposals, then for each its score, its box and its image. */
  private record Proposals(ProposalParameters parameters, OperationView view) implements Kernel {
    private static final int NUMBERS = 1 + CORNERS + 1;

    Proposals(ResolvedOperation operation) {
      this(operation.parameters(ProposalParameters.class), operation.view());
    }

    private int boxesOfImage() {
      return parameters.height() * parameters.width() * parameters.anchors();
    }

    @Override
    public long scratchSize() {
      return Integer.BYTES * (1 + (long) NUMBERS * parameters.images() * boxesOfImage());
    }

    @Override
    public List<Shape> measure(MemorySegment[] inputs, MemorySegment scratch, WorkMeter work) {
      float[] images = reals(work, view, 3, inputs[3]);
      float[] anchors = anchors(inputs[2], work);
      int boxes = boxesOfImage();
      float[] scores = new float[boxes];
      float[] deltas = new float[boxes * CORNERS];
      float[] corners = new float[boxes * CORNERS];
      int[] chosen = new int[boxes];
      int count = 0;
      for (int image = 0; image < parameters.images(); image++) {
        float height = images[2 * image];
        float width = images[2 * image + 1];
        load(image, inputs, scores, deltas);
        for (int box = 0; box < boxes; box++) {
          work.done(1);
          Boxes.check(anchors, box);
          transform(anchors, box, deltas, box, height, width, corners);
          chosen[box] = box;
        }
        int end = boxes;
        if (parameters.mostBefore() > 0 && parameters.mostBefore() < boxes) {
          Boxes.sort(scores, chosen, boxes);
          end = parameters.mostBefore();
        }
        end = keepLargeInside(corners, height, width, chosen, end);
        Boxes all = new Boxes(corners, scores, 1, work);
        Boxes.Rule rule = Boxes.hard(parameters.overlapThreshold());
        end = all.suppress(chosen, 0, end, parameters.mostAfter(), rule);
        for (int i = 0; i < end; i++) {
          long at = 1 + (long) NUMBERS * count++;
          Elements.FLOAT32.setFloat(scratch, at, scores[chosen[i]]);
          for (int c = 0; c < CORNERS; c++) {
            Elements.FLOAT32.setFloat(scratch, at + 1 + c, corners[chosen[i] * CORNERS + c]);
          }
          Elements.INT32.setInt(scratch, at + 1 + CORNERS, image);
        }
      }
      Elements.INT32.setInt(scratch, 0, count);
      return List.of(Shape.of(count), Shape.of(count, CORNERS), Shape.of(count));
    }

    /** The anchors at all cells. */
    private float[] anchors(MemorySegment segment, WorkMeter work) {
      float[] bare = reals(work, view, 2, segment);
      float[] anchors = new float[boxesOfImage() * CORNERS];
      int next = 0;
      for (int y = 0; y < parameters.height(); y++) {
        for (int x = 0; x < parameters.width(); x++) {
          for (int i = 0; i < bare.length; i++) {
            boolean isX = i % 2 == 0;
            anchors[next++] =
                bare[i] + (isX ? x * parameters.widthStride() : y * parameters.heightStride());
          }
        }
      }
      return anchors;
    }

    /** Scores and deltas of an image in the order of its anchors. */
    private void load(int image, MemorySegment[] inputs, float[] scores, float[] deltas) {
      RealElements scoreElements = RealElements.of(view.input(0));
      RealElements deltaElements = RealElements.of(view.input(1));
      Index4 scoreIndex = new Index4(parameters.layout(), view.input(0).shape());
      Index4 deltaIndex = new Index4(parameters.layout(), view.input(1).shape());
      int box = 0;
      for (int y = 0; y < parameters.height(); y++) {
        for (int x = 0; x < parameters.width(); x++) {
          for (int a = 0; a < parameters.anchors(); a++) {
            scores[box] = scoreElements.get(inputs[0], scoreIndex.of(image, y, x, a));
            for (int c = 0; c < CORNERS; c++) {
              deltas[box * CORNERS + c] =
                  deltaElements.get(inputs[1], deltaIndex.of(image, y, x, a * CORNERS + c));
            }
            box++;
          }
        }
      }
    }

    private int keepLargeInside(
        float[] corners, float height, float width, int[] chosen, int count) {
      int kept = 0;
      for (int i = 0; i < count; i++) {
        int first = chosen[i] * CORNERS;
        float boxWidth = corners[first + 2] - corners[first];
        float boxHeight = corners[first + 3] - corners[first + 1];
        if (boxWidth > parameters.leastSize()
            && boxHeight > parameters.leastSize()
            && corners[first] + boxWidth / 2 < width
            && corners[first + 1] + boxHeight / 2 < height) {
          chosen[kept++] = chosen[i];
        }
      }
      return kept;
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      RealElements scores = RealElements.of(view.output(0));
      RealElements corners = RealElements.of(view.output(1));
      int count = Elements.INT32.getInt(scratch, 0);
      for (int i = 0; i < count; i++) {
        long at = 1 + (long) NUMBERS * i;
        scores.set(outputs[0], i, Elements.FLOAT32.getFloat(scratch, at));
        for (int c = 0; c < CORNERS; c++) {
          float corner = Elements.FLOAT32.getFloat(scratch, at + 1 + c);
          corners.set(outputs[1], (long) i * CORNERS + c, corner);
        }
        int image = Elements.INT32.getInt(scratch, at + 1 + CORNERS);
        Elements.INT32.setInt(outputs[2], i, image);
      }
    }
  }

  private static Kernel postprocessing(ResolvedOperation operation) {
    PostprocessingParameters parameters = operation.parameters(PostprocessingParameters.class);
    OperationView view = operation.view();
    return (inputs, outputs, scratch, work) -> {
      float[] scores = reals(work, view, 0, inputs[0]);
      float[] deltas = reals(work, view, 1, inputs[1]);
      float[] anchors = reals(work, view, 2, inputs[2]);
      for (MemorySegment output : outputs) {
        output.fill((byte) 0);
      }
      for (int image = 0; image < parameters.images(); image++) {
        float[] corners = decoded(parameters, image, deltas, anchors);
        int imageScores = parameters.anchors() * parameters.classes();
        float[] own = Arrays.copyOfRange(scores, image * imageScores, (image + 1) * imageScores);
        DetectionWriter writer = new DetectionWriter(view, outputs, parameters, image);
        int count =
            parameters.isRegular()
                ? regular(parameters, own, corners, writer, work)
                : byBestClass(parameters, own, corners, writer, work);
        Elements.INT32.setInt(outputs[3], image, count);
      }
    };
  }

  /** Boxes as [y1, x1, y2, x2]. */
  private static float[] decoded(
      PostprocessingParameters parameters, int image, float[] deltas, float[] anchors) {
    float[] corners = new float[anchors.length];
    for (int a = 0; a < parameters.anchors(); a++) {
      int delta = (image * parameters.anchors() + a) * parameters.encodingLength();
      parameters.decode(deltas, delta, anchors, a * CORNERS, corners, a * CORNERS, 1);
    }
    return corners;
  }

  private static int regular(
      PostprocessingParameters parameters,
      float[] scores,
      float[] corners,
      DetectionWriter writer,
      WorkMeter work) {
    int classes = parameters.classes();
    int[] chosen = new int[scores.length];
    int count =
        new Boxes(corners, scores, classes, work)
            .suppressByClass(
                0,
                parameters.anchors(),
                classes,
                parameters.scoreThreshold(),
                parameters.mostOfClass(),
                parameters.mostDetections(),
                Boxes.hard(parameters.overlapThreshold()),
                chosen);
    for (int i = 0; i < count; i++) {
      writer.write(scores[chosen[i]], corners, chosen[i] / classes, chosen[i] % classes);
    }
    return count;
  }

  /**
   * Boxes are chosen by their best class; those that are left show their best classes. Scores that
   * are no numbers are worse than all others.
   */
  private static int byBestClass(
      PostprocessingParameters parameters,
      float[] scores,
      float[] corners,
      DetectionWriter writer,
      WorkMeter work) {
    int classes = parameters.classes();
    float[] best = new float[parameters.anchors()];
    int[] chosen = new int[best.length];
    int end = 0;
    for (int a = 0; a < best.length; a++) {
      for (int c = 1; c < classes; c++) {
        float score = scores[a * classes + c];
        best[a] = score > best[a] ? score : best[a];
      }
      if (best[a] > parameters.scoreThreshold()) {
        chosen[end++] = a;
      }
    }
    Boxes boxes = new Boxes(corners, best, 1, work);
    Boxes.Rule rule = Boxes.hard(parameters.overlapThreshold());
    end = boxes.suppress(chosen, 0, end, parameters.mostDetections(), rule);
    int shown = parameters.shownClasses();
    int[] ranked = new int[classes - 1];
    for (int i = 0; i < end; i++) {
      for (int c = 1; c < classes; c++) {
        ranked[c - 1] = chosen[i] * classes + c;
      }
      Boxes.sort(scores, ranked, ranked.length);
      for (int c = 0; c < shown; c++) {
        writer.write(scores[ranked[c]], corners, chosen[i], ranked[c] % classes);
      }
    }
    return end * shown;
  }

  /** Writes the detections of one image one after the other. */
  private static final class DetectionWriter {
    private final RealElements scores;
    private final RealElements boxes;
    private final MemorySegment[] outputs;
    private final PostprocessingParameters parameters;
    private long next;

    DetectionWriter(
        OperationView view,
        MemorySegment[] outputs,
        PostprocessingParameters parameters,
        int image) {
      this.scores = RealElements.of(view.output(0));
      this.boxes = RealElements.of(view.output(1));
      this.outputs = outputs;
      this.parameters = parameters;
      this.next = (long) image * parameters.detections();
    }

    void write(float score, float[] corners, int box, int index) {
      scores.set(outputs[0], next, score);
      for (int c = 0; c < CORNERS; c++) {
        boxes.set(outputs[1], next * CORNERS + c, corners[box * CORNERS + c]);
      }
      Elements.INT32.setInt(outputs[2], next, parameters.label(index));
      next++;
    }
  }
}
