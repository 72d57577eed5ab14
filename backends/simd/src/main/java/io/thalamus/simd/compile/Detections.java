// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Detection.PostprocessingParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Largest;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;

/**
 * The best boxes of images: DETECTION_POSTPROCESSING. Boxes come by their scores, each is compared
 * with those that are chosen by then, and most never come. What comes is decoded as the reference
 * does it, so that the same boxes are chosen.
 */
public final class Detections extends UnitStep {
  private static final int CORNERS = 4;

  /** What is known of a box: y1, x1, y2, x2 and its area. */
  private static final int NUMBERS = 5;

  /** Boxes between two looks at whether the execution ends. */
  private static final int LOOK = 1 << 10;

  /** Scores, which scratch memory has several numbers for. */
  private static final long MOST_SCORES = 1 << 27;

  private final PostprocessingParameters parameters;
  private final Tensor scores;
  private final Tensor deltas;
  private final Tensor anchors;
  private final Tensor outScores;
  private final Tensor outBoxes;
  private final Tensor outClasses;
  private final Tensor outCounts;
  private final int boxes;
  private final int classes;

  /** Boxes chosen at most, of a class where it is regular. */
  private final int most;

  /** Scores that are ranked in the end: of chosen boxes of all classes, or of a box's classes. */
  private final int ranked;

  private Detections(Node node, Tensors tensors, Budget budget) {
    PostprocessingParameters them = node.operation().parameters(PostprocessingParameters.class);
    super(them.images(), budget.tiles(16L * tensors.input(node, 0).size()));
    parameters = them;
    scores = tensors.input(node, 0);
    deltas = tensors.input(node, 1);
    anchors = tensors.input(node, 2);
    outScores = tensors.get(node.outputs().get(0));
    outBoxes = tensors.get(node.outputs().get(1));
    outClasses = tensors.get(node.outputs().get(2));
    outCounts = tensors.get(node.outputs().get(3));
    boxes = parameters.anchors();
    classes = parameters.classes();
    most = parameters.mostChosen();
    ranked = (classes - 1) * (parameters.isRegular() ? most : 1);
  }

  /** Adds the operation to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.DETECTION_POSTPROCESSING,
        Detections::isPossible,
        Detections::new,
        TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    return Finding.areTensorsKnown(operation)
        && operation.input(0).shape().elementCount() < MOST_SCORES;
  }

  /** The numbers of all boxes that have come, and of those that are chosen. */
  @Override
  public int scratchFloats() {
    return NUMBERS * (boxes + most);
  }

  private int chosenNumbers() {
    return Lanes.LEAD + NUMBERS * boxes;
  }

  /**
   * Keys of boxes, their places, and whether they are decoded; the chosen ones; keys, places and
   * numbers of what is ranked.
   */
  @Override
  public int scratchInts() {
    return rankedKeys() + 3 * ranked;
  }

  private int chosen() {
    return 3 * boxes;
  }

  private int rankedKeys() {
    return chosen() + most;
  }

  private int rankedPlaces() {
    return rankedKeys() + ranked;
  }

  @Override
  void run(Frame frame, Scratch scratch, int first, int end) {
    for (int image = first; image < end; image++) {
      Arrays.fill(scratch.ints, 2 * boxes, 3 * boxes, 0);
      int count =
          parameters.isRegular()
              ? regular(frame, scratch, image)
              : byBestClass(frame, scratch, image);
      int from = image * parameters.detections() + count;
      int to = (image + 1) * parameters.detections();
      fill(frame.floats(outScores), outScores, from, to, 1);
      fill(frame.floats(outBoxes), outBoxes, from, to, CORNERS);
      int at = outClasses.offset();
      Arrays.fill(frame.ints(outClasses), at + from, at + to, 0);
      frame.ints(outCounts)[outCounts.offset() + image] = count;
    }
  }

  private static void fill(float[] out, Tensor output, int from, int to, int each) {
    Arrays.fill(out, output.offset() + from * each, output.offset() + to * each, 0);
  }

  private int byBestClass(Frame frame, Scratch scratch, int image) {
    float[] in = frame.floats(scores);
    int at = scores.offset() + image * boxes * classes;
    int count = 0;
    for (int box = 0; box < boxes; box++) {
      if (box % LOOK == 0 && frame.isOver(scratch)) {
        return 0;
      }
      float best = Largest.number(frame.isScalar, in, at + box * classes + 1, classes - 1);
      count = add(best, box, scratch.ints, count);
    }
    int kept = suppress(frame, scratch, image, count);
    int shown = parameters.shownClasses();
    int[] ints = scratch.ints;
    for (int i = 0; i < kept; i++) {
      int box = ints[chosen() + i];
      for (int c = 0; c < ranked; c++) {
        float score = in[at + box * classes + c + 1];
        // What is no number comes last.
        ints[rankedKeys() + c] = score != score ? Integer.MAX_VALUE : ~Heap.key(score);
        ints[rankedPlaces() + c] = rankedKeys() + c;
      }
      Heap.order(ints, ints, rankedPlaces(), ranked);
      for (int row = 0; row < shown; row++) {
        int c = Heap.take(ints, ints, rankedPlaces(), ranked - row) - rankedKeys() + 1;
        write(frame, scratch, image, i * shown + row, box * classes + c);
      }
    }
    return kept * shown;
  }

  private int regular(Frame frame, Scratch scratch, int image) {
    float[] in = frame.floats(scores);
    int[] ints = scratch.ints;
    int found = 0;
    for (int c = 1; c < classes; c++) {
      int at = scores.offset() + image * boxes * classes + c;
      int count = 0;
      for (int box = 0; box < boxes; box++) {
        if (box % LOOK == 0 && frame.isOver(scratch)) {
          return 0;
        }
        count = add(in[at + box * classes], box, ints, count);
      }
      int kept = suppress(frame, scratch, image, count);
      for (int i = 0; i < kept; i++) {
        int box = ints[chosen() + i];
        int key = rankedKeys() + found;
        ints[key] = ints[box];
        ints[key + ranked] = key;
        ints[key + 2 * ranked] = box * classes + c;
        found++;
      }
    }
    Heap.order(ints, ints, rankedPlaces(), found);
    int count = Math.min(found, parameters.mostDetections());
    for (int row = 0; row < count; row++) {
      int key = Heap.take(ints, ints, rankedPlaces(), found - row);
      write(frame, scratch, image, row, ints[key + 2 * ranked]);
    }
    return count;
  }

  /** Adds a box to those that are chosen from, unless its score is too low or no number. */
  private int add(float score, int box, int[] ints, int count) {
    if (score > parameters.scoreThreshold()) {
      ints[box] = ~Heap.key(score);
      ints[boxes + count] = box;
      return count + 1;
    }
    return count;
  }

  /** Chooses boxes, best first, each of which is far from those before it; returns how many. */
  private int suppress(Frame frame, Scratch scratch, int image, int count) {
    int[] ints = scratch.ints;
    float[] numbers = scratch.floats;
    Heap.order(ints, ints, boxes, count);
    int kept = 0;
    for (int left = count; left > 0 && kept < most; left--) {
      if (left % LOOK == 0 && frame.isOver(scratch)) {
        return 0;
      }
      int box = Heap.take(ints, ints, boxes, left);
      if (ints[2 * boxes + box] == 0) {
        ints[2 * boxes + box] = 1;
        decode(frame, numbers, image, box);
      }
      if (!isNear(numbers, box, kept)) {
        for (int i = 0; i < NUMBERS; i++) {
          numbers[chosenNumbers() + i * most + kept] = numbers[Lanes.LEAD + i * boxes + box];
        }
        ints[chosen() + kept++] = box;
      }
    }
    return kept;
  }

  private void decode(Frame frame, float[] numbers, int image, int box) {
    int at = Lanes.LEAD + box;
    parameters.decode(
        frame.floats(deltas),
        deltas.offset() + (image * boxes + box) * parameters.encodingLength(),
        frame.floats(anchors),
        anchors.offset() + box * CORNERS,
        numbers,
        at,
        boxes);
    float height = numbers[at + 2 * boxes] - numbers[at];
    float width = numbers[at + 3 * boxes] - numbers[at + boxes];
    numbers[at + CORNERS * boxes] = height * width;
  }

  /**
   * Returns true if a box overlaps too much with one of those that are chosen. Few pairs of boxes
   * come here: vectors would cost more, as long as the JVM has not compiled them, than they save.
   */
  private boolean isNear(float[] numbers, int box, int kept) {
    int at = Lanes.LEAD + box;
    float y1 = numbers[at];
    float x1 = numbers[at + boxes];
    float y2 = numbers[at + 2 * boxes];
    float x2 = numbers[at + 3 * boxes];
    float area = numbers[at + 4 * boxes];
    for (int i = chosenNumbers(); i < chosenNumbers() + kept; i++) {
      float height = Math.min(numbers[i + 2 * most], y2) - Math.max(numbers[i], y1);
      float width = Math.min(numbers[i + 3 * most], x2) - Math.max(numbers[i + most], x1);
      float common = Math.max(height, 0) * Math.max(width, 0);
      if (common / (area + numbers[i + 4 * most] - common) >= parameters.overlapThreshold()) {
        return true;
      }
    }
    return false;
  }

  /**
   * Writes a row of an image.
   *
   * @param score which one of the image's
   */
  private void write(Frame frame, Scratch scratch, int image, int row, int score) {
    int at = image * parameters.detections() + row;
    frame.floats(outScores)[outScores.offset() + at] =
        frame.floats(scores)[scores.offset() + image * boxes * classes + score];
    float[] corners = frame.floats(outBoxes);
    for (int i = 0; i < CORNERS; i++) {
      corners[outBoxes.offset() + at * CORNERS + i] =
          scratch.floats[Lanes.LEAD + i * boxes + score / classes];
    }
    frame.ints(outClasses)[outClasses.offset() + at] = parameters.label(score % classes);
  }
}
