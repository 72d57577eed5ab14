// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Detection.PostprocessingParameters;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationView;
import io.thalamus.x86.compile.ElementChain.Tensor;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.CheckedIndexes;
import io.thalamus.x86.kernel.ChosenBoxes;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.ElementFunction.Paired;
import io.thalamus.x86.kernel.ElementFunction.Single;
import io.thalamus.x86.kernel.FoundRows;
import io.thalamus.x86.kernel.GatheredRows;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Reducing;
import io.thalamus.x86.kernel.SortedRows;
import io.thalamus.x86.kernel.Strided;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The best boxes of images: DETECTION_POSTPROCESSING. All boxes are decoded and some chosen, of
 * each class or by the best one; then the best of all classes, or the best classes of each, are
 * sorted. Used once, for one operation.
 */
public final class Detections {
  private static final int CORNERS = 4;

  /** Elements of a call. */
  private static final int LONGEST = 1 << 16;

  /** Boxes that a call compares with others: a millisecond or two. */
  private static final int MOST_COMPARED = 1 << 21;

  private static final int SCORES = 0;
  private static final int BOXES = 1;
  private static final int CLASSES = 2;
  private static final int COUNTS = 3;
  private static final int DELTAS = 1;
  private static final int ANCHORS = 2;
  private static final int PARAMETERS = 3;

  private static final Shape ONE = Shape.of(1);

  private final PostprocessingParameters parameters;
  private final Lowering.Operands operands;
  private final ProgramBuilder program;
  private final int boxes;

  /** Classes without the background. */
  private final int classes;

  /** Boxes chosen at most: of a class where it is regular. */
  private final int most;

  /** Rows of an image's results that can be more than zeros. */
  private final int rows;

  private Detections(
      PostprocessingParameters parameters, Lowering.Operands operands, ProgramBuilder program) {
    this.parameters = parameters;
    this.operands = operands;
    this.program = program;
    boxes = parameters.anchors();
    classes = parameters.classes() - 1;
    most = parameters.mostChosen();
    rows = rows(parameters);
  }

  /** Adds the operation to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    Casting.addFloats(
        table,
        OperationCode.DETECTION_POSTPROCESSING,
        Detections::isPossible,
        (operation, operands, program) ->
            new Detections(operation.parameters(PostprocessingParameters.class), operands, program)
                .lower());
  }

  private static boolean isPossible(OperationView operation) {
    return operation.inputs().stream().limit(PARAMETERS).allMatch(Sizes::isPossible)
        && operation.hasValues(PARAMETERS)
        && StaticGraph.parameters(operation, PostprocessingParameters.class)
            .filter(Detections::isPossible)
            .isPresent();
  }

  private static int rows(PostprocessingParameters parameters) {
    return parameters.isRegular()
        ? (int)
            Math.min(
                parameters.mostDetections(), (parameters.classes() - 1L) * parameters.mostChosen())
        : parameters.mostChosen() * parameters.shownClasses();
  }

  private static boolean isPossible(PostprocessingParameters parameters) {
    long boxes = parameters.anchors();
    long classes = parameters.classes() - 1;
    long most = parameters.mostChosen();
    boolean isRegular = parameters.isRegular();
    long sorted =
        isRegular ? classes * most * rows(parameters) : classes * parameters.shownClasses();
    long parts = 1 + most * boxes / MOST_COMPARED;
    long calls = (isRegular ? classes : 1) * parts + boxes / Moving.STRIP;
    return boxes <= MOST_COMPARED
        && most <= LONGEST
        // They are counted in floats.
        && (long) parameters.images() * parameters.detections() < FoundRows.MOST
        && classes * most < Finding.MOST_MOVED
        && sorted < Finding.MOST_MOVED
        && parameters.images() * calls < Finding.MOST_CALLS;
  }

  private void lower() {
    Place anchors = operands.input(ANCHORS);
    Place centers = columns(anchors, 0, CORNERS);
    Place sizes = columns(anchors, 2, CORNERS);
    for (int image = 0; image < parameters.images(); image++) {
      image(image, centers, sizes);
      program.nextStep();
    }
  }

  private void image(int image, Place centers, Place sizes) {
    Place low = program.place(2L * boxes * Float.BYTES);
    // Whole vectors are read.
    Place high = program.place(2L * boxes * Float.BYTES + Program.SLACK);
    decode(image, centers, sizes, low, high);
    Place chosen = choose(image, low, high);
    Place scores = words(chosen, ChosenBoxes.SCORE, classes() * most);
    if (parameters.isRegular()) {
      regular(image, chosen, scores);
    } else {
      byBestClass(image, chosen, scores);
    }
    int left = parameters.detections() - rows;
    zeros(SCORES, image, left, 1);
    zeros(BOXES, image, left, CORNERS);
    zeros(CLASSES, image, left, 1);
  }

  /** Returns the classes of which boxes are chosen; 1 where they are chosen by the best one. */
  private int classes() {
    return parameters.isRegular() ? classes : 1;
  }

  // Boxes: y and x stand beside each other, of all boxes the one behind the other.

  /** Returns two columns of a matrix, the one behind the other. */
  private Place columns(Place from, long at, int length) {
    Place to = program.place(2L * boxes * Float.BYTES);
    for (int i = 0; i < 2; i++) {
      Spot first = from.at((at + i) * Float.BYTES);
      Spot target = to.at((long) i * boxes * Float.BYTES);
      Moving.words(first, length * Float.BYTES, target, boxes, program);
    }
    return to;
  }

  private void decode(int image, Place centers, Place sizes, Place low, Place high) {
    Shape shape = Shape.of(2, boxes);
    int length = parameters.encodingLength();
    long at = (long) image * boxes * length;
    Tensor offsets = new Tensor(columns(operands.input(DELTAS), at, length), shape);
    Tensor growths = new Tensor(columns(operands.input(DELTAS), at + 2, length), shape);
    Tensor ofCenter = floats(parameters.scaleY(), parameters.scaleX());
    Tensor ofSize = floats(parameters.scaleHeight(), parameters.scaleWidth());
    Tensor size = new Tensor(sizes, shape);
    Chain center = new Chain(shape);
    Tensor moved = center.then(Pair.DIV, center.then(Pair.MUL, size, offsets), ofCenter);
    Tensor middle = center.end(Pair.ADD, new Tensor(centers, shape), moved);
    Chain half = new Chain(shape);
    Tensor growth = half.then(Kind.EXP, half.then(Pair.DIV, growths, ofSize));
    Tensor distance = half.end(Pair.MUL, half.then(Pair.MUL, size, growth), floats(0.5f));
    new Chain(shape).end(Pair.SUB, middle, distance, low);
    new Chain(shape).end(Pair.ADD, middle, distance, high);
  }

  /** Returns the entries of the chosen boxes, class by class. */
  private Place choose(int image, Place low, Place high) {
    int regions = classes();
    long region = ChosenBoxes.chosen(boxes) + (long) most * ChosenBoxes.BYTES;
    Place scores = program.place(regions * region);
    if (parameters.isRegular()) {
      byClass(image, scores, region);
    } else {
      Place all = program.place((long) classes * boxes * Float.BYTES);
      byClass(image, all, (long) boxes * Float.BYTES);
      ReducedCells cells = new ReducedCells(1, classes, boxes);
      Reduction.reduce(Reducing.LARGEST_NUMBER, cells, all, scores, program);
    }
    int part = Math.min(most, MOST_COMPARED / boxes);
    for (int first = 0; first < most; first += part) {
      // Each call changes the scores.
      program.barrier();
      int some = Math.min(part, most - first);
      ChosenBoxes boxesOfCall =
          new ChosenBoxes(
              boxes, parameters.scoreThreshold(), parameters.overlapThreshold(), most, first, some);
      for (int i = 0; i < regions; i++) {
        program.call(boxesOfCall, low.at(0), scores.at(i * region), high.at(0));
        program.multiplied((long) some * boxes * Float.BYTES);
      }
    }
    program.barrier();
    int bytes = most * ChosenBoxes.BYTES;
    Place chosen = program.place((long) regions * bytes);
    program.callInParts(
        new Strided(1, bytes, 1, 1, Math.toIntExact(region), bytes),
        regions,
        Math.max(1, LONGEST / bytes),
        scores.at(ChosenBoxes.chosen(boxes)),
        chosen.at(0));
    return chosen;
  }

  /** Has the scores of each class stand beside each other. */
  private void byClass(int image, Place to, long step) {
    int row = parameters.classes() * Float.BYTES;
    Spot from = operands.input(SCORES).at((long) image * boxes * row + Float.BYTES);
    Moving.transpose(boxes, classes, row, Math.toIntExact(step), from, to.at(0), program);
  }

  // Rows of results.

  /** The best of all classes. */
  private void regular(int image, Place chosen, Place scores) {
    int count = classes * most;
    Place sorted = Finding.sort(new SortedRows(count, rows, false), 1, scores, program);
    Tensor places = half(sorted, 0, Shape.of(rows));
    Tensor bits = half(sorted, Integer.BYTES, Shape.of(rows));
    Tensor numbers = new Chain(places.shape()).end(Pair.INT_SUB, ints(count - 1), places);
    Place found = gather(numbers, count, ChosenBoxes.BYTES, chosen.at(0), ChosenBoxes.BYTES);
    corners(image, found, 0, 1);
    copy(bits, SCORES, image);
    Tensor isThere = isThere(bits);
    labels(image, places, count, most, isThere);
    count(image, isThere, 1);
  }

  /** The best classes of each box. */
  private void byBestClass(int image, Place chosen, Place scores) {
    int shown = parameters.shownClasses();
    Tensor isThere = isThere(new Tensor(scores, Shape.of(most, 1)));
    Tensor numbers = new Tensor(words(chosen, ChosenBoxes.NUMBER, most), Shape.of(most));
    int row = parameters.classes() * Float.BYTES;
    Place found =
        gather(
            numbers,
            boxes,
            row,
            operands.input(SCORES).at((long) image * boxes * row + Float.BYTES),
            classes * Float.BYTES);
    Place keys = program.place(found.bytes());
    Elementwise.map(Kind.INT_OF_ORDER, found, keys, program);
    Place sorted = Finding.sort(new SortedRows(classes, shown, false), most, keys, program);
    Shape shape = Shape.of(most, shown);
    Tensor places = half(sorted, 0, shape);
    Chain results = new Chain(shape);
    Tensor values = results.then(Kind.FLOAT_OF_ORDER, half(sorted, Integer.BYTES, shape));
    copy(results.end(Pair.INT_MUL, values, isThere), SCORES, image);
    for (int i = 0; i < shown; i++) {
      corners(image, chosen, i, shown);
    }
    labels(image, places, classes, 1, isThere);
    count(image, isThere, shown);
  }

  /**
   * Returns rows by their numbers.
   *
   * @param count of all rows
   * @param step bytes from one to the next
   * @param bytes of a row
   */
  private Place gather(Tensor numbers, int count, int step, Spot from, int bytes) {
    int some = (int) numbers.shape().elementCount();
    CheckedIndexes indexes = new CheckedIndexes(some, List.of(count), List.of(step));
    Place places = Finding.check(indexes, numbers.place(), program);
    Place to = program.place((long) some * bytes);
    program.callInParts(
        new GatheredRows((count - 1L) * step + bytes, bytes),
        some,
        Math.max(1, LONGEST / bytes),
        from,
        to.at(0),
        places.at(indexes.places()));
    return to;
  }

  /** Returns where a word of each chosen box stands beside those of the others. */
  private Place words(Place chosen, int at, int count) {
    Place to = program.place((long) count * Integer.BYTES);
    Moving.words(chosen.at(at), ChosenBoxes.BYTES, to.at(0), count, program);
    return to;
  }

  private Tensor half(Place sorted, int at, Shape shape) {
    Place to = program.place(shape.elementCount() * Integer.BYTES);
    Finding.half(sorted, at, to, shape.elementCount(), program);
    return new Tensor(to, shape);
  }

  /** Returns 1 where the bits of a score are not 0, which is never less, and 0 where they are. */
  private Tensor isThere(Tensor scores) {
    return new Chain(scores.shape()).end(Pair.INT_MINIMUM, scores, ints(1));
  }

  /**
   * Writes the labels of classes.
   *
   * @param places counted from the last one
   * @param count of places
   * @param each places of a class
   */
  private void labels(int image, Tensor places, int count, int each, Tensor isThere) {
    int first = parameters.label(1);
    Chain chain = new Chain(places.shape());
    Tensor forwards = chain.then(Pair.INT_SUB, ints(count - 1 + first * each), places);
    Tensor labels = chain.then(Pair.INT_FLOOR_DIV, forwards, ints(each));
    copy(chain.end(Pair.INT_MUL, labels, isThere), CLASSES, image);
  }

  /**
   * Writes how many rows there are.
   *
   * @param each rows for each box that is there
   */
  private void count(int image, Tensor isThere, int each) {
    int count = (int) isThere.shape().elementCount();
    Place floats = program.place((long) count * Float.BYTES);
    Casting.cast(Type.INT32, isThere.place(), Type.FLOAT32, floats, count, program);
    Place sum = program.place(Float.BYTES);
    Reduction.reduce(Reducing.SUM, new ReducedCells(1, count, 1), floats, sum, program);
    Tensor all = new Chain(ONE).end(Pair.MUL, new Tensor(sum, ONE), floats(each));
    Place result = program.place(Integer.BYTES);
    Casting.cast(Type.FLOAT32, all.place(), Type.INT32, result, 1, program);
    Spot to = operands.output(COUNTS).at((long) image * Integer.BYTES);
    Moving.words(result.at(0), Integer.BYTES, to, 1, program);
  }

  /** Writes the corners of boxes to every so many rows. */
  private void corners(int image, Place reported, int first, int every) {
    int bytes = CORNERS * Float.BYTES;
    program.callInParts(
        new Strided(
            Float.BYTES, CORNERS, Float.BYTES, Float.BYTES, ChosenBoxes.BYTES, every * bytes),
        reported.bytes() / ChosenBoxes.BYTES,
        LONGEST,
        reported.at(0),
        operands.output(BOXES).at((row(image) + first) * bytes));
  }

  /** Returns the number of the first row of an image. */
  private long row(int image) {
    return (long) image * parameters.detections();
  }

  private void copy(Tensor from, int output, int image) {
    Spot to = operands.output(output).at(row(image) * Integer.BYTES);
    long count = from.shape().elementCount();
    Moving.words(from.place().at(0), Integer.BYTES, to, count, program);
  }

  /** Writes zeros to the last rows of an image. */
  private void zeros(int output, int image, int count, int each) {
    long end = row(image) + parameters.detections();
    Spot to = operands.output(output).at((end - count) * each * Float.BYTES);
    Moving.words(program.zero().at(0), 0, to, (long) count * each, program);
  }

  private Tensor ints(int value) {
    return new Tensor(constant(value), ONE);
  }

  /** Returns one number, or one for each of two rows. */
  private Tensor floats(float... values) {
    int[] bits = new int[values.length];
    for (int i = 0; i < bits.length; i++) {
      bits[i] = Float.floatToRawIntBits(values[i]);
    }
    return new Tensor(constant(bits), values.length == 1 ? ONE : Shape.of(values.length, 1));
  }

  private Place constant(int... words) {
    ByteBuffer bytes =
        ByteBuffer.allocate(words.length * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asIntBuffer().put(words);
    return program.constantPlace(bytes.array());
  }

  /** Functions of elements that one pass computes, of which only the last result is stored. */
  private final class Chain {
    private final ElementChain chain = new ElementChain();
    private final Shape shape;

    Chain(Shape shape) {
      this.shape = shape;
    }

    private Tensor add(ElementFunction function, Place to, Tensor... read) {
      chain.add(function, List.of(read), to);
      return new Tensor(to, shape);
    }

    Tensor then(Pair pair, Tensor first, Tensor second) {
      return add(new Paired(pair, FusedActivation.NONE), new Place(0), first, second);
    }

    Tensor then(Kind kind, Tensor of) {
      return add(new Single(kind, 0), new Place(0), of);
    }

    Tensor end(Pair pair, Tensor first, Tensor second) {
      return end(pair, first, second, program.place(shape.elementCount() * Float.BYTES));
    }

    Tensor end(Pair pair, Tensor first, Tensor second, Place to) {
      Tensor result = add(new Paired(pair, FusedActivation.NONE), to, first, second);
      chain.lower(to, shape, program);
      return result;
    }
  }
}
