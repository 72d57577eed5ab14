// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import static io.thalamus.model.Elements.FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.cpu.Detection;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Shape;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Regions.AlignParameters;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Regions of images, wherever they lie. */
final class Regions {
  private static final int CORNERS = 4;

  /** Floats count pixels so far. */
  private static final float FAR = 1 << 24;

  private Regions() {}

  static void register(KernelTable.Builder table) {
    table.add(ThalamusExtension.ROI_ALIGN, Align::new, TENSOR_FLOAT32);
  }

  /** Samples along an axis of a region: so many for each of its cells, {@code step} pixels each. */
  private record Axis(float start, float step, double samples, int size) {
    static Axis of(float from, float to, int cells, int size, AlignParameters parameters) {
      float extent = parameters.isHalfPixel() ? to - from : Math.max(to - from, 1);
      float step = extent / cells;
      double samples = parameters.samples() > 0 ? parameters.samples() : Math.ceil(step);
      return new Axis(from, step, Math.max(samples, 0), size);
    }

    float place(int cell, double sample) {
      return start + cell * step + ((float) sample + 0.5f) * step / (float) samples;
    }

    boolean isInside(float place) {
      return place >= -1 && place <= size;
    }

    /** The first sample of a cell that may lie in the image: a box may be as large as it likes. */
    double first(int cell) {
      double before = (-1 - (start + cell * step)) * samples / step - 2;
      return step > 0 ? Math.max(Math.ceil(before), 0) : 0;
    }

    boolean isBehind(float place) {
      return step > 0 && place > size;
    }
  }

  /** See He et al., "Mask R-CNN" (2017), section 3, and ONNX's RoiAlign for what lies outside. */
  private static final class Align implements Kernel {
    private final AlignParameters parameters;
    private final Shape input;
    private final Shape output;
    private final int channels;

    Align(ResolvedOperation operation) {
      parameters = operation.parameters(AlignParameters.class);
      input = operation.inputShape(0);
      output = operation.outputShape(0);
      channels = input.dimension(3);
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      int rows = output.dimension(1);
      int columns = output.dimension(2);
      float[] cell = new float[channels];
      long next = 0;
      for (int box = 0; box < output.dimension(0); box++) {
        int image = Detection.imageOf(inputs[2], box, input.dimension(0));
        Axis down = axis(inputs[1], box, 1, rows, input.dimension(1));
        Axis across = axis(inputs[1], box, 0, columns, input.dimension(2));
        for (int row = 0; row < rows; row++) {
          for (int column = 0; column < columns; column++) {
            cell(inputs[0], image, down, row, across, column, cell, work);
            for (float value : cell) {
              FLOAT32.setFloat(outputs[0], next++, value);
            }
          }
        }
      }
    }

    private Axis axis(MemorySegment boxes, int box, int coordinate, int cells, int size) {
      float from = coordinate(boxes, box, coordinate);
      float to = coordinate(boxes, box, coordinate + 2);
      if (!(Math.abs(from) <= FAR && Math.abs(to) <= FAR)) {
        throw new KernelException("box " + box + " lies farther off than pixels are counted");
      }
      return Axis.of(from, to, cells, size, parameters);
    }

    private float coordinate(MemorySegment boxes, int box, int corner) {
      float stored = FLOAT32.getFloat(boxes, (long) box * CORNERS + corner);
      return stored * parameters.scale() - (parameters.isHalfPixel() ? 0.5f : 0);
    }

    private void cell(
        MemorySegment pixels,
        int image,
        Axis down,
        int row,
        Axis across,
        int column,
        float[] cell,
        WorkMeter work) {
      Arrays.fill(cell, parameters.isLargest() ? Float.NEGATIVE_INFINITY : 0);
      double count = down.samples() * across.samples();
      double inside = 0;
      for (double i = down.first(row); i < down.samples(); i++) {
        work.done(1);
        float y = down.place(row, i);
        if (down.isBehind(y)) {
          break;
        }
        for (double j = across.first(column); down.isInside(y) && j < across.samples(); j++) {
          work.done(1);
          float x = across.place(column, j);
          if (across.isBehind(x)) {
            break;
          }
          if (across.isInside(x)) {
            work.done(4L * channels);
            sample(pixels, image, y, x, cell);
            inside++;
          }
        }
      }
      for (int c = 0; c < channels; c++) {
        if (!parameters.isLargest()) {
          cell[c] /= (float) Math.max(count, 1);
        } else if (inside < Math.max(count, 1)) {
          // A sample outside is one of pixels that are 0.
          cell[c] = Math.max(cell[c], 0);
        }
      }
    }

    private void sample(MemorySegment pixels, int image, float y, float x, float[] cell) {
      int height = input.dimension(1);
      int width = input.dimension(2);
      float down = Math.clamp(y, 0f, height - 1);
      float across = Math.clamp(x, 0f, width - 1);
      int top = (int) down;
      int left = (int) across;
      int bottom = Math.min(top + 1, height - 1);
      int right = Math.min(left + 1, width - 1);
      float v = down - top;
      float h = across - left;
      long above = ((long) image * height + top) * width;
      long below = ((long) image * height + bottom) * width;
      long[] corners = {above + left, above + right, below + left, below + right};
      float[] weights = {(1 - v) * (1 - h), (1 - v) * h, v * (1 - h), v * h};
      for (int i = 0; i < corners.length; i++) {
        long first = corners[i] * channels;
        for (int c = 0; c < channels; c++) {
          float weighted = weights[i] * FLOAT32.getFloat(pixels, first + c);
          cell[c] = parameters.isLargest() ? Math.max(cell[c], weighted) : cell[c] + weighted;
        }
      }
    }
  }
}
