// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Resize.Parameters;
import io.thalamus.operations.Resize.Sampling;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;

/** Pictures of another size: RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR. */
public final class Resize {
  private Resize() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RESIZE_BILINEAR, OperationCode.RESIZE_NEAREST_NEIGHBOR
        }) {
      boolean isBilinear = code == OperationCode.RESIZE_BILINEAR;
      Lowering lowering =
          (node, tensors, budget) ->
              new Lines(
                  isBilinear,
                  node.operation().parameters(Parameters.class),
                  tensors.input(node, 0),
                  tensors.output(node),
                  budget);
      table
          .add(code, Resize::isPossible, lowering, TENSOR_FLOAT32)
          .add(code, Resize::isPossible, lowering, ElementTypes.quantized8());
    }
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown() && operation.hasValues(1);
  }

  /** Cells of the input for those of the output along one axis, and how far between them. */
  private record Cells(int[] lower, int[] upper, float[] between) {
    static Cells of(boolean isBilinear, Sampling sampling, int count) {
      int[] lower = new int[count];
      int[] upper = new int[count];
      float[] between = new float[count];
      for (int i = 0; i < count; i++) {
        float position = isBilinear ? sampling.position(i) : sampling.nearest(i);
        lower[i] = sampling.lower(position);
        upper[i] = sampling.upper(position);
        between[i] = position - lower[i];
      }
      return new Cells(lower, upper, between);
    }
  }

  /**
   * Lines of the output, some of which are a tile. Where channels come before lines, each is a
   * picture of one channel.
   */
  private static final class Lines extends UnitStep {
    private final boolean isBilinear;
    private final Tensor input;
    private final Tensor output;
    private final Cells rows;
    private final Cells columns;

    /** Elements of a cell, and of a line of the input. */
    private final int cell;

    private final int inputLine;
    private final int inputHeight;

    /** Of the stored results; null for floats. */
    private final IntRange range;

    Lines(boolean isBilinear, Parameters parameters, Tensor input, Tensor output, Budget budget) {
      DataLayout layout = parameters.layout();
      int height = layout.height(output.shape());
      int width = layout.width(output.shape());
      int channels = layout.channels(output.shape());
      boolean isNhwc = layout == DataLayout.NHWC;
      int pictures = output.dimension(0) * (isNhwc ? 1 : channels);
      super(pictures * height, budget.tiles(4L * output.size()));
      this.isBilinear = isBilinear;
      this.input = input;
      this.output = output;
      cell = isNhwc ? channels : 1;
      rows = Cells.of(isBilinear, parameters.height(), height);
      columns = Cells.of(isBilinear, parameters.width(), width);
      inputLine = cell * layout.width(input.shape());
      inputHeight = layout.height(input.shape());
      range = input.isFloat() ? null : IntRange.of((OperandCode) output.view().type());
    }

    /** Bytes are resized as floats: two lines, and the one between them. */
    @Override
    public int scratchFloats() {
      return input.isFloat() ? 0 : 2 * inputLine + outputLine();
    }

    @Override
    public int scratchInts() {
      return input.isFloat() ? 0 : outputLine();
    }

    private int outputLine() {
      return columns.lower().length * cell;
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      int height = rows.lower().length;
      for (int line = first; line < end; line++) {
        int y = line % height;
        int picture = input.offset() + line / height * inputHeight * inputLine;
        int top = picture + rows.lower()[y] * inputLine;
        int bottom = picture + rows.upper()[y] * inputLine;
        int to = output.offset() + line * outputLine();
        if (!isBilinear) {
          copy(frame.array(input), top, frame.array(output), to);
        } else if (input.isFloat()) {
          blend(frame.floats(input), top, bottom, y, frame.floats(output), to);
        } else {
          blend(frame, scratch, top, bottom, y, to);
        }
      }
    }

    private void copy(Object in, int line, Object out, int to) {
      int[] cells = columns.lower();
      for (int x = 0; x < cells.length; x++) {
        Moving.copy(in, line + cells[x] * cell, out, to + x * cell, cell);
      }
    }

    /** A line of the output between two of the input, of bytes. */
    private void blend(Frame frame, Scratch scratch, int top, int bottom, int y, int to) {
      float[] floats = scratch.floats;
      byte[] in = frame.bytes(input);
      boolean isScalar = frame.isScalar;
      int flip = input.flip();
      // Counted from the least stored value, so that both types round alike.
      Lanes.toFloats(isScalar, in, top, flip, Byte.MIN_VALUE, floats, 0, inputLine);
      Lanes.toFloats(isScalar, in, bottom, flip, Byte.MIN_VALUE, floats, inputLine, inputLine);
      int between = 2 * inputLine;
      blend(floats, 0, inputLine, y, floats, between);
      int[] ints = scratch.ints;
      int count = outputLine();
      for (int i = 0; i < count; i++) {
        ints[i] = (int) (floats[between + i] + 0.5f);
      }
      Lanes.toBytes(isScalar, ints, 0, range.min(), range, frame.bytes(output), to, count);
    }

    /** The same of floats. */
    private void blend(float[] in, int top, int bottom, int y, float[] out, int to) {
      float down = rows.between()[y];
      for (int x = 0; x < columns.between().length; x++) {
        int left = columns.lower()[x] * cell;
        int right = columns.upper()[x] * cell;
        float along = columns.between()[x];
        blend(
            in, top + left, bottom + left, top + right, bottom + right, down, along, out, to, cell);
        to += cell;
      }
    }

    /** A cell between four. A method of its own: the JVM makes vectors of its loop. */
    private static void blend(
        float[] in,
        int topLeft,
        int bottomLeft,
        int topRight,
        int bottomRight,
        float down,
        float along,
        float[] out,
        int to,
        int count) {
      float up = 1 - down;
      float back = 1 - along;
      for (int i = 0; i < count; i++) {
        out[to + i] =
            in[topLeft + i] * up * back
                + in[bottomLeft + i] * down * back
                + in[topRight + i] * up * along
                + in[bottomRight + i] * down * along;
      }
    }
  }
}
