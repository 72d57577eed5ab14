// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.FunctionDefinition.Step;
import io.thalamus.operations.Moves.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Members of the family {@link Rearrange} that move blocks of cells between height and width on one
 * side and channels or batches on the other: DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND,
 * SPACE_TO_BATCH_ND.
 */
final class SpaceDepthBatch {
  private static final Argument BLOCKS =
      argument("block sizes", TENSOR_INT32).rank(1).needsValue(true);

  private static final int PADDINGS = 2;

  private SpaceDepthBatch() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        depthAndSpace(OperationCode.DEPTH_TO_SPACE, true),
        depthAndSpace(OperationCode.SPACE_TO_DEPTH, false),
        definition(
            OperationCode.BATCH_TO_SPACE_ND,
            V1_1,
            SpaceDepthBatch::toSpaceShapes,
            SpaceDepthBatch::toSpaceMoves,
            BLOCKS),
        definition(
                OperationCode.SPACE_TO_BATCH_ND,
                V1_1,
                SpaceDepthBatch::toBatchShapes,
                SpaceDepthBatch::toBatchMoves,
                BLOCKS,
                argument("paddings", TENSOR_INT32).rank(2).needsValue(true))
            .checkedBy(SpaceDepthBatch::checkToBatch));
  }

  /** The common part: four dimensions, a layout as the last, optional argument. */
  private static FunctionDefinition definition(
      OperationCode type,
      FeatureLevel since,
      Step<List<Shape>> shapes,
      Step<Moves> moves,
      Argument... arguments) {
    List<Argument> inputs = new ArrayList<>();
    inputs.add(data("input", TypeLevels.numbers(since)).rank(4));
    inputs.addAll(List.of(arguments));
    inputs.add(argument("layout", BOOL).from(V1_2));
    return new FunctionDefinition(
        type,
        Signature.since(since).inputs(inputs).outputs(argument("output", T).quantizedAs("input")),
        shapes,
        moves,
        Trait.DATA_MOVEMENT);
  }

  /** The only value of a scalar, or both of a tensor of two; all positive. */
  private static int[] blocks(OperationView operation) throws ValidationException {
    int[] values = operation.input(1).int32s();
    int[] blocks = values.length == 1 ? new int[] {values[0], values[0]} : values;
    if (blocks.length != 2 || blocks[0] <= 0 || blocks[1] <= 0) {
      throw new ValidationException(
          "a block needs a positive height and width, not " + Arrays.toString(blocks));
    }
    return blocks;
  }

  private static int divide(int whole, int by, String what) throws ValidationException {
    if (whole % by != 0) {
      throw new ValidationException(what + " of " + whole + " does not divide by " + by);
    }
    return whole / by;
  }

  private static DataLayout layout(OperationView operation, int input) {
    return DataLayout.of(operation.bool(input, false));
  }

  /** Strides of batch, height, width and channels, whatever the layout. */
  private record Strides(long batch, long height, long width, long channel) {
    static Strides of(DataLayout layout, Shape shape) {
      long[] strides = StridedCopy.strides(shape);
      return new Strides(
          strides[0],
          strides[layout.heightAxis()],
          strides[layout.widthAxis()],
          strides[layout.channelAxis()]);
    }
  }

  /** DEPTH_TO_SPACE and SPACE_TO_DEPTH: the same moves, one from deep to wide, one back. */
  private static OperationDefinition depthAndSpace(OperationCode type, boolean isToSpace) {
    return definition(
        type,
        V1_0,
        operation -> depthAndSpaceShapes(operation, isToSpace),
        operation -> depthAndSpaceMoves(operation, isToSpace),
        argument("block size", INT32));
  }

  private static List<Shape> depthAndSpaceShapes(OperationView operation, boolean isToSpace)
      throws ValidationException {
    DataLayout layout = layout(operation, 2);
    Shape input = operation.input(0).shape();
    int batch = input.dimension(0);
    int height = layout.height(input);
    int width = layout.width(input);
    int depth = layout.channels(input);
    int block = blocks(operation)[0];
    int cells = Math.multiplyExact(block, block);
    return List.of(
        isToSpace
            ? layout.shape(
                batch,
                Math.multiplyExact(height, block),
                Math.multiplyExact(width, block),
                divide(depth, cells, "a depth"))
            : layout.shape(
                batch,
                divide(height, block, "a height"),
                divide(width, block, "a width"),
                Math.multiplyExact(depth, cells)));
  }

  private static Moves depthAndSpaceMoves(OperationView operation, boolean isToSpace)
      throws ValidationException {
    DataLayout layout = layout(operation, 2);
    Shape input = operation.input(0).shape();
    Shape output = operation.output().shape();
    Shape deepShape = isToSpace ? input : output;
    Shape wideShape = isToSpace ? output : input;
    int block = blocks(operation)[0];
    int depth = layout.channels(wideShape);
    Strides deep = Strides.of(layout, deepShape);
    Strides wide = Strides.of(layout, wideShape);
    int[] dimensions = {
      input.dimension(0), layout.height(deepShape), block, layout.width(deepShape), block, depth
    };
    long[] inDeep = {
      deep.batch(),
      deep.height(),
      (long) block * depth * deep.channel(),
      deep.width(),
      depth * deep.channel(),
      deep.channel()
    };
    long[] inWide = {
      wide.batch(),
      block * wide.height(),
      wide.height(),
      block * wide.width(),
      wide.width(),
      wide.channel()
    };
    return Moves.of(
        isToSpace
            ? StridedCopy.of(dimensions, 0, inDeep, 0, inWide)
            : StridedCopy.of(dimensions, 0, inWide, 0, inDeep));
  }

  private static List<Shape> toSpaceShapes(OperationView operation) throws ValidationException {
    DataLayout layout = layout(operation, 2);
    Shape input = operation.input(0).shape();
    int[] blocks = blocks(operation);
    return List.of(
        layout.shape(
            divide(input.dimension(0), Math.multiplyExact(blocks[0], blocks[1]), "a batch"),
            Math.multiplyExact(layout.height(input), blocks[0]),
            Math.multiplyExact(layout.width(input), blocks[1]),
            layout.channels(input)));
  }

  private static Moves toSpaceMoves(OperationView operation) throws ValidationException {
    DataLayout layout = layout(operation, 2);
    Shape input = operation.input(0).shape();
    Shape output = operation.output().shape();
    int[] blocks = blocks(operation);
    Strides from = Strides.of(layout, input);
    Strides to = Strides.of(layout, output);
    int batches = output.dimension(0);
    return Moves.of(
        StridedCopy.of(
            new int[] {
              blocks[0],
              blocks[1],
              batches,
              layout.height(input),
              layout.width(input),
              layout.channels(input)
            },
            0,
            new long[] {
              (long) blocks[1] * batches * from.batch(),
              batches * from.batch(),
              from.batch(),
              from.height(),
              from.width(),
              from.channel()
            },
            0,
            new long[] {
              to.height(),
              to.width(),
              to.batch(),
              blocks[0] * to.height(),
              blocks[1] * to.width(),
              to.channel()
            }));
  }

  /** HAL 1.1 pads with stored zeros, whatever they stand for. */
  private static void checkToBatch(OperationView operation, Check check) {
    check.atLeast(operation.input(0).zeroPoint() == 0 ? V1_1 : V1_2);
  }

  private static int[] paddings(OperationView operation) throws ValidationException {
    int[] paddings = operation.input(PADDINGS).int32s();
    if (paddings.length != 4 || Arrays.stream(paddings).anyMatch(padding -> padding < 0)) {
      throw new ValidationException(
          "the paddings of height and width are " + Arrays.toString(paddings));
    }
    return paddings;
  }

  private static List<Shape> toBatchShapes(OperationView operation) throws ValidationException {
    DataLayout layout = layout(operation, 3);
    Shape input = operation.input(0).shape();
    int[] blocks = blocks(operation);
    int[] paddings = paddings(operation);
    int height = Math.addExact(Math.addExact(paddings[0], paddings[1]), layout.height(input));
    int width = Math.addExact(Math.addExact(paddings[2], paddings[3]), layout.width(input));
    return List.of(
        layout.shape(
            Math.multiplyExact(input.dimension(0), Math.multiplyExact(blocks[0], blocks[1])),
            divide(height, blocks[0], "a padded height"),
            divide(width, blocks[1], "a padded width"),
            layout.channels(input)));
  }

  private static Moves toBatchMoves(OperationView operation) throws ValidationException {
    DataLayout layout = layout(operation, 3);
    Shape input = operation.input(0).shape();
    Shape output = operation.output().shape();
    int[] blocks = blocks(operation);
    int[] paddings = paddings(operation);
    Strides from = Strides.of(layout, input);
    Strides to = Strides.of(layout, output);
    int batches = input.dimension(0);
    List<Part> parts = new ArrayList<>();
    for (int y = 0; y < blocks[0]; y++) {
      Taps rows = Taps.of(y - paddings[0], blocks[0], layout.height(input));
      for (int x = 0; x < blocks[1]; x++) {
        Taps columns = Taps.of(x - paddings[2], blocks[1], layout.width(input));
        StridedCopy copy =
            StridedCopy.of(
                new int[] {batches, rows.count(), columns.count(), layout.channels(input)},
                rows.source() * from.height() + columns.source() * from.width(),
                new long[] {
                  from.batch(), blocks[0] * from.height(), blocks[1] * from.width(), from.channel()
                },
                (long) (y * blocks[1] + x) * batches * to.batch()
                    + rows.target() * to.height()
                    + columns.target() * to.width(),
                new long[] {to.batch(), to.height(), to.width(), to.channel()});
        parts.add(new Part(0, 0, copy, Optional.empty()));
      }
    }
    return new Moves(OptionalInt.of(operation.input(0).zeroPoint()), parts);
  }

  /**
   * The cells {@code origin + step * i} that lie on an input.
   *
   * @param target the first {@code i}
   * @param source the cell for it
   * @param count how many there are
   */
  private record Taps(int target, int source, int count) {
    static Taps of(int origin, int step, int size) {
      int first = origin >= 0 ? 0 : (-origin + step - 1) / step;
      int source = origin + first * step;
      return new Taps(first, source, source >= size ? 0 : (size - source + step - 1) / step);
    }
  }
}
