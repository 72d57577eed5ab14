// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Resize.Parameters;
import io.thalamus.operations.Resize.Sampling;
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

  /** Lines of the output, some of which are a tile. */
  private static final class Lines extends UnitStep {
    private final boolean isBilinear;
    private final Tensor input;
    private final Tensor output;
    private final Cells rows;
    private final Cells columns;
    private final int channels;

    /** Elements from one cell, one line, and one channel to the next. */
    private final int cell;

    private final int inputLine;
    private final int inputChannel;
    private final int outputChannel;

    Lines(boolean isBilinear, Parameters parameters, Tensor input, Tensor output, Budget budget) {
      super(
          output.dimension(0) * parameters.layout().height(output.shape()),
          budget.tiles(4L * output.size()));
      this.isBilinear = isBilinear;
      this.input = input;
      this.output = output;
      DataLayout layout = parameters.layout();
      rows = Cells.of(isBilinear, parameters.height(), layout.height(output.shape()));
      columns = Cells.of(isBilinear, parameters.width(), layout.width(output.shape()));
      channels = layout.channels(output.shape());
      boolean isNhwc = layout == DataLayout.NHWC;
      cell = isNhwc ? channels : 1;
      inputLine = cell * layout.width(input.shape());
      inputChannel = isNhwc ? 1 : layout.height(input.shape()) * layout.width(input.shape());
      outputChannel = isNhwc ? 1 : rows.lower().length * columns.lower().length;
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      int height = rows.lower().length;
      int width = columns.lower().length;
      for (int line = first; line < end; line++) {
        int picture = line / height;
        int y = line % height;
        int inputSize = input.size() / output.dimension(0);
        int from = input.offset() + picture * inputSize;
        int to = output.offset() + picture * channels * height * width + y * width * cell;
        int top = from + rows.lower()[y] * inputLine;
        int bottom = from + rows.upper()[y] * inputLine;
        for (int x = 0; x < width; x++) {
          int left = columns.lower()[x] * cell;
          int right = columns.upper()[x] * cell;
          cell(frame, top, bottom, left, right, y, x, to + x * cell);
        }
      }
    }

    private void cell(Frame frame, int top, int bottom, int left, int right, int y, int x, int to) {
      float down = rows.between()[y];
      float along = columns.between()[x];
      switch (frame.array(input)) {
        case float[] in -> {
          float[] out = frame.floats(output);
          if (!isBilinear) {
            for (int c = 0; c < channels; c++) {
              out[to + c * outputChannel] = in[top + left + c * inputChannel];
            }
            return;
          }
          for (int c = 0; c < channels; c++) {
            int at = c * inputChannel;
            out[to + c * outputChannel] =
                in[top + left + at] * (1 - down) * (1 - along)
                    + in[bottom + left + at] * down * (1 - along)
                    + in[top + right + at] * (1 - down) * along
                    + in[bottom + right + at] * down * along;
          }
        }
        default -> {
          byte[] in = frame.bytes(input);
          byte[] out = frame.bytes(output);
          if (!isBilinear) {
            for (int c = 0; c < channels; c++) {
              out[to + c * outputChannel] = in[top + left + c * inputChannel];
            }
            return;
          }
          int flip = input.flip();
          for (int c = 0; c < channels; c++) {
            int at = c * inputChannel;
            float value =
                counted(in[top + left + at], flip) * (1 - down) * (1 - along)
                    + counted(in[bottom + left + at], flip) * down * (1 - along)
                    + counted(in[top + right + at], flip) * (1 - down) * along
                    + counted(in[bottom + right + at], flip) * down * along;
            out[to + c * outputChannel] = (byte) ((int) (value + 0.5f) + Byte.MIN_VALUE ^ flip);
          }
        }
      }
    }

    /** Returns a stored byte counted from the least one, so that both types round alike. */
    private static float counted(byte stored, int flip) {
      return (byte) (stored ^ flip) - Byte.MIN_VALUE;
    }
  }
}
