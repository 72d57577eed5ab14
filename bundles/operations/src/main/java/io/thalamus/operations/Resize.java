// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.ArgumentType.of;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;

/** Operations that sample an image at another size: RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR. */
public final class Resize {
  private static final int WIDTH = 1;
  private static final int HEIGHT = 2;
  private static final int LAYOUT = 3;
  private static final int ALIGN_CORNERS = 4;
  private static final int HALF_PIXEL_CENTERS = 5;

  private Resize() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        definition(OperationCode.RESIZE_BILINEAR),
        definition(OperationCode.RESIZE_NEAREST_NEIGHBOR));
  }

  /**
   * The parameters of both.
   *
   * @param layout of input and output
   * @param height how rows are sampled
   * @param width how columns are sampled
   */
  public record Parameters(DataLayout layout, Sampling height, Sampling width)
      implements OperationParameters {}

  /**
   * The places of the cells of the output along one axis of the input.
   *
   * @param input cells of the input
   * @param scale cells of the input for each cell of the output
   * @param alignCorners whether the centers of the outermost cells fall together
   * @param halfPixelCenters whether cells are measured from their centers
   */
  public record Sampling(int input, float scale, boolean alignCorners, boolean halfPixelCenters) {
    static Sampling of(int input, int output, boolean alignCorners, boolean halfPixelCenters) {
      float scale =
          alignCorners && output > 1 ? (input - 1) / (float) (output - 1) : input / (float) output;
      return new Sampling(input, scale, alignCorners, halfPixelCenters);
    }

    /** The cell that is nearest, for RESIZE_NEAREST_NEIGHBOR. */
    public int nearest(int cell) {
      float position = halfPixelCenters ? (cell + 0.5f) * scale : cell * scale;
      int nearest = alignCorners ? FixedPoint.round(position) : (int) Math.floor(position);
      return Math.clamp(nearest, 0, input - 1);
    }

    /** The position between cells, for RESIZE_BILINEAR. */
    public float position(int cell) {
      return halfPixelCenters ? (cell + 0.5f) * scale - 0.5f : cell * scale;
    }

    /** The last cell that is not behind a position. */
    public int lower(float position) {
      return Math.max((int) Math.floor(position), 0);
    }

    /** The first cell that is not in front of a position. */
    public int upper(float position) {
      return Math.min((int) Math.ceil(position), input - 1);
    }
  }

  private static FunctionDefinition definition(OperationCode type) {
    return new FunctionDefinition(
            type,
            signature(type == OperationCode.RESIZE_BILINEAR),
            Resize::shapes,
            Resize::parameters)
        .checkedBy(Resize::check);
  }

  private static Signature signature(boolean isBilinear) {
    FeatureLevel since = isBilinear ? V1_0 : V1_2;
    Argument layout = argument("layout", BOOL);
    ArgumentType size = of(INT32).or(REAL.from(V1_2));
    return Signature.since(since)
        .inputs(
            data("input", TypeLevels.numbers(V1_2).andSince(since, TENSOR_FLOAT32)).rank(4),
            argument("width", size),
            argument("height", size),
            isBilinear ? layout.from(V1_2) : layout,
            argument("align corners", BOOL).from(V1_3),
            argument("half pixel centers", BOOL).from(V1_3))
        .outputs(argument("output", T).quantizedAs("input"));
  }

  private static void check(OperationView operation, Check check) throws ValidationException {
    check.sameType(operation, WIDTH, HEIGHT);
  }

  private static DataLayout layout(OperationView operation) {
    return DataLayout.of(operation.bool(LAYOUT, false));
  }

  /** A size is given in cells, or as a factor in the scalar type of the data. */
  private static int size(OperandView scalar, int input) throws ValidationException {
    int size =
        scalar.type() == OperandCode.INT32
            ? scalar.int32()
            : (int) Math.floor(input * scalar.float32());
    if (size <= 0) {
      throw new ValidationException(input + " cells cannot be resized to " + size);
    }
    return size;
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    DataLayout layout = layout(operation);
    if (operation.bool(ALIGN_CORNERS, false) && operation.bool(HALF_PIXEL_CENTERS, false)) {
      throw new ValidationException("corners cannot be aligned with half pixel centers");
    }
    if (input.with(0, 1).elementCount() == 0) {
      throw new ValidationException("an image of " + input + " has nothing to sample");
    }
    return List.of(
        layout.shape(
            input.dimension(0),
            size(operation.input(HEIGHT), layout.height(input)),
            size(operation.input(WIDTH), layout.width(input)),
            layout.channels(input)));
  }

  private static Parameters parameters(OperationView operation) {
    Shape input = operation.input(0).shape();
    Shape output = operation.output().shape();
    DataLayout layout = layout(operation);
    boolean alignCorners = operation.bool(ALIGN_CORNERS, false);
    boolean halfPixelCenters = operation.bool(HALF_PIXEL_CENTERS, false);
    return new Parameters(
        layout,
        Sampling.of(layout.height(input), layout.height(output), alignCorners, halfPixelCenters),
        Sampling.of(layout.width(input), layout.width(output), alignCorners, halfPixelCenters));
  }
}
