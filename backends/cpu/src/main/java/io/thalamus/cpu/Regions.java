// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.cpu.Boxes.CORNERS;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FixedPoint;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.Regions.HeatmapParameters;
import io.thalamus.operations.Regions.RegionParameters;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;

/** Operations on regions of an image. */
final class Regions {
  /** Weights of samples are stored in eight bits where the image is quantized. */
  private static final float WEIGHT_SCALE = 1 / 255f;

  /** A sample lies between four cells. */
  private static final int CELLS_OF_SAMPLE = 4;

  private Regions() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.ROI_ALIGN, Regions::align)
        .quantized8(OperationCode.ROI_ALIGN, Regions::quantizedAlign)
        .add(OperationCode.ROI_POOLING, Regions::pool, ElementTypes.reals())
        .add(OperationCode.HEATMAP_MAX_KEYPOINT, Regions::heatmap, ElementTypes.reals());
  }

  /** The regions in cells of the input, which both operations on regions share. */
  private static final class Grid {
    private final RegionParameters parameters;
    private final DataLayout layout;
    private final Shape input;
    private final Shape output;
    private final Index4 sources;
    private final Index4 targets;
    private final RealElements boxes;

    Grid(ResolvedOperation operation) {
      parameters = operation.parameters(RegionParameters.class);
      layout = parameters.layout();
      input = operation.inputShape(0);
      output = operation.outputShape(0);
      sources = new Index4(layout, input);
      targets = new Index4(layout, output);
      boxes = RealElements.of(operation.view().input(1));
    }

    int height() {
      return layout.height(input);
    }

    int width() {
      return layout.width(input);
    }

    int channels() {
      return layout.channels(input);
    }

    int outputHeight() {
      return layout.height(output);
    }

    int outputWidth() {
      return layout.width(output);
    }

    /** A coordinate of a box, which must lie in the image. */
    private float coordinate(MemorySegment[] inputs, int box, int corner) {
      boolean isX = corner % 2 == 0;
      float scale = 1 / (isX ? parameters.widthStride() : parameters.heightStride());
      float coordinate = boxes.get(inputs[1], (long) box * CORNERS + corner) * scale;
      if (!(coordinate >= 0 && coordinate <= (isX ? width() : height()))) {
        throw new KernelException("box " + box + " does not lie in the image");
      }
      return coordinate;
    }

    Region region(MemorySegment[] inputs, int box) {
      int image = Detection.imageOf(inputs[2], box, input.dimension(0));
      Region region =
          new Region(
              image,
              coordinate(inputs, box, 0),
              coordinate(inputs, box, 1),
              coordinate(inputs, box, 2),
              coordinate(inputs, box, 3));
      if (region.left() > region.right() || region.top() > region.bottom()) {
        throw new KernelException("box " + box + " is inside out");
      }
      return region;
    }
  }

  private record Region(int image, float left, float top, float right, float bottom) {}

  /** Samples along one axis for each cell of the output. */
  private record Samples(float start, float step, int count, float distance) {
    static Samples of(float from, float to, int cells, int samples) {
      float step = Math.max(to - from, 1) / cells;
      int count = samples > 0 ? samples : (int) Math.ceil(step);
      return new Samples(from, step, count, step / count);
    }

    float position(int cell, int sample) {
      return step * cell + start + distance / 2 + distance * sample;
    }
  }

  /** A position between two neighbours along one axis. */
  private record Between(int first, int second, float weight) {
    static Between of(float position, int size) {
      int first = (int) Math.floor(position);
      return first >= size - 1
          ? new Between(size - 1, size - 1, 0)
          : new Between(first, first + 1, position - first);
    }
  }

  /** Receives the four weighted cells around a sample. */
  @FunctionalInterface
  private interface SampleVisitor {
    void visit(Between y, Between x);
  }

  private static void forEachSample(
      WorkMeter work,
      Grid grid,
      Samples rows,
      Samples columns,
      int row,
      int column,
      SampleVisitor visitor) {
    for (int i = 0; i < rows.count(); i++) {
      Between y = Between.of(rows.position(row, i), grid.height());
      for (int j = 0; j < columns.count(); j++) {
        work.done(CELLS_OF_SAMPLE);
        visitor.visit(y, Between.of(columns.position(column, j), grid.width()));
      }
    }
  }

  /** Receives a cell of the output with the samples that make it. */
  @FunctionalInterface
  private interface CellVisitor {
    void visit(Region region, Samples rows, Samples columns, int row, int column, int box);
  }

  private static void forEachCell(Grid grid, MemorySegment[] inputs, CellVisitor visitor) {
    RegionParameters parameters = grid.parameters;
    for (int box = 0; box < grid.output.dimension(0); box++) {
      Region region = grid.region(inputs, box);
      Samples rows =
          Samples.of(
              region.top(), region.bottom(), grid.outputHeight(), parameters.heightSamples());
      Samples columns =
          Samples.of(region.left(), region.right(), grid.outputWidth(), parameters.widthSamples());
      for (int row = 0; row < grid.outputHeight(); row++) {
        for (int column = 0; column < grid.outputWidth(); column++) {
          visitor.visit(region, rows, columns, row, column, box);
        }
      }
    }
  }

  /** See He et al., "Mask R-CNN" (2017), section 3. */
  private static Kernel align(ResolvedOperation operation) {
    Grid grid = new Grid(operation);
    Elements elements = Elements.of(operation.view().output().type());
    return (inputs, outputs, scratch, work) ->
        forEachCell(
            grid,
            inputs,
            (region, rows, columns, row, column, box) -> {
              for (int c = 0; c < grid.channels(); c++) {
                float[] sum = new float[1];
                int channel = c;
                forEachSample(
                    work,
                    grid,
                    rows,
                    columns,
                    row,
                    column,
                    (y, x) ->
                        sum[0] +=
                            interpolated(grid, elements, inputs[0], region.image(), y, x, channel));
                elements.setFloat(
                    outputs[0],
                    grid.targets.of(box, row, column, c),
                    sum[0] / ((float) rows.count() * columns.count()));
              }
            });
  }

  private static float interpolated(
      Grid grid,
      Elements elements,
      MemorySegment segment,
      int image,
      Between y,
      Between x,
      int channel) {
    Index4 at = grid.sources;
    float topLeft = elements.getFloat(segment, at.of(image, y.first(), x.first(), channel));
    float topRight = elements.getFloat(segment, at.of(image, y.first(), x.second(), channel));
    float bottomLeft = elements.getFloat(segment, at.of(image, y.second(), x.first(), channel));
    float bottomRight = elements.getFloat(segment, at.of(image, y.second(), x.second(), channel));
    return (1 - x.weight()) * (1 - y.weight()) * topLeft
        + x.weight() * (1 - y.weight()) * topRight
        + (1 - x.weight()) * y.weight() * bottomLeft
        + x.weight() * y.weight() * bottomRight;
  }

  private static Kernel quantizedAlign(ResolvedOperation operation) {
    Grid grid = new Grid(operation);
    OperandView input = operation.view().input(0);
    OperandView output = operation.view().output();
    Elements elements = Elements.of(input.type());
    IntRange range = IntRange.of((OperandCode) output.type());
    return (inputs, outputs, scratch, work) ->
        forEachCell(
            grid,
            inputs,
            (region, rows, columns, row, column, box) -> {
              float samples = (float) rows.count() * columns.count();
              // How many samples there are is known only by the size of the box.
              Requantization average =
                  Requantization.of(
                      input.scale() * WEIGHT_SCALE / output.scale() / samples, Rounding.DOUBLE);
              for (int c = 0; c < grid.channels(); c++) {
                int[] sum = new int[1];
                int channel = c;
                forEachSample(
                    work,
                    grid,
                    rows,
                    columns,
                    row,
                    column,
                    (y, x) ->
                        sum[0] +=
                            weighted(
                                grid, elements, input, inputs[0], region.image(), y, x, channel));
                int stored = average.apply(sum[0]) + output.zeroPoint();
                elements.setInt(
                    outputs[0], grid.targets.of(box, row, column, c), range.clamp(stored));
              }
            });
  }

  private static int weighted(
      Grid grid,
      Elements elements,
      OperandView input,
      MemorySegment segment,
      int image,
      Between y,
      Between x,
      int channel) {
    int sum = 0;
    for (int i = 0; i < 4; i++) {
      boolean isBottom = i >= 2;
      boolean isRight = i % 2 == 1;
      float weight =
          (isRight ? x.weight() : 1 - x.weight()) * (isBottom ? y.weight() : 1 - y.weight());
      long index =
          grid.sources.of(
              image, isBottom ? y.second() : y.first(), isRight ? x.second() : x.first(), channel);
      sum +=
          FixedPoint.round(weight / WEIGHT_SCALE)
              * (elements.getInt(segment, index) - input.zeroPoint());
    }
    return sum;
  }

  /** See Girshick, "Fast R-CNN" (2015), section 2.1. */
  private static Kernel pool(ResolvedOperation operation) {
    Grid grid = new Grid(operation);
    NumberReader numbers = NumberReader.stored(operation.view().input(0).type());
    DataMovement mover = DataMovement.of(operation.view().output().type());
    int empty = operation.view().input(0).zeroPoint();
    return (inputs, outputs, scratch, work) -> {
      mover.fill(work, outputs[0], operation.outputShape(0).elementCount(), empty);
      for (int box = 0; box < grid.output.dimension(0); box++) {
        Region region = grid.region(inputs, box);
        int left = FixedPoint.round(region.left());
        int top = FixedPoint.round(region.top());
        float columnStep =
            (float) Math.max(FixedPoint.round(region.right()) - left + 1, 1) / grid.outputWidth();
        float rowStep =
            (float) Math.max(FixedPoint.round(region.bottom()) - top + 1, 1) / grid.outputHeight();
        for (int row = 0; row < grid.outputHeight(); row++) {
          int firstRow = Math.min((int) Math.floor(rowStep * row + top), grid.height());
          int endRow = Math.min((int) Math.ceil(rowStep * (row + 1) + top), grid.height());
          for (int column = 0; column < grid.outputWidth(); column++) {
            int firstColumn = Math.min((int) Math.floor(columnStep * column + left), grid.width());
            int endColumn =
                Math.min((int) Math.ceil(columnStep * (column + 1) + left), grid.width());
            for (int c = 0; c < grid.channels(); c++) {
              long best = -1;
              for (int y = firstRow; y < endRow; y++) {
                work.done(endColumn - firstColumn);
                for (int x = firstColumn; x < endColumn; x++) {
                  long index = grid.sources.of(region.image(), y, x, c);
                  if (best < 0 || numbers.get(inputs[0], index) > numbers.get(inputs[0], best)) {
                    best = index;
                  }
                }
              }
              if (best >= 0) {
                mover.copy(
                    work, inputs[0], best, outputs[0], grid.targets.of(box, row, column, c), 1);
              }
            }
          }
        }
      }
    };
  }

  /** See He et al., "Mask R-CNN" (2017), section 5, and {@link Peak}. */
  private static Kernel heatmap(ResolvedOperation operation) {
    HeatmapParameters parameters = operation.parameters(HeatmapParameters.class);
    RealElements heat = RealElements.of(operation.view().input(0));
    RealElements boxes = RealElements.of(operation.view().input(1));
    RealElements scores = RealElements.of(operation.view().output(0));
    RealElements keypoints = RealElements.of(operation.view().output(1));
    Index4 cells = new Index4(parameters.layout(), operation.inputShape(0));
    return (inputs, outputs, scratch, work) -> {
      float[] corners = new float[parameters.boxes() * CORNERS];
      for (int i = 0; i < corners.length; i++) {
        corners[i] = boxes.get(inputs[1], i);
      }
      for (int box = 0; box < parameters.boxes(); box++) {
        Boxes.check(corners, box);
        float left = corners[box * CORNERS];
        float top = corners[box * CORNERS + 1];
        float width = corners[box * CORNERS + 2] - left;
        float height = corners[box * CORNERS + 3] - top;
        for (int k = 0; k < parameters.keypoints(); k++) {
          work.done((long) parameters.size() * parameters.size());
          int image = box;
          int keypoint = k;
          Peak peak =
              Peak.find(
                  parameters.size(),
                  parameters.tolerance(),
                  (y, x) -> heat.get(inputs[0], cells.of(image, y, x, keypoint)));
          long index = (long) box * parameters.keypoints() + k;
          scores.set(outputs[0], index, peak.score());
          keypoints.set(outputs[1], 2 * index, peak.x() * width + left);
          keypoints.set(outputs[1], 2 * index + 1, peak.y() * height + top);
        }
      }
    };
  }
}
