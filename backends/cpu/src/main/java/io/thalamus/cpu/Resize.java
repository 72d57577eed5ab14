// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Resize.Parameters;
import io.thalamus.operations.Resize.Sampling;
import io.thalamus.operations.ResolvedOperation;

/** Operations that sample an image at another size. */
final class Resize {
  private Resize() {}

  static void register(KernelTable.Builder table) {
    table
        .add(OperationCode.RESIZE_NEAREST_NEIGHBOR, Resize::nearest, ElementTypes.reals())
        .floats(OperationCode.RESIZE_BILINEAR, Resize::bilinear)
        .quantized8(OperationCode.RESIZE_BILINEAR, Resize::quantizedBilinear);
  }

  private static Kernel nearest(ResolvedOperation operation) {
    Parameters parameters = operation.parameters(Parameters.class);
    DataLayout layout = parameters.layout();
    Shape output = operation.outputShape(0);
    Index4 sources = new Index4(layout, operation.inputShape(0));
    Index4 targets = new Index4(layout, output);
    DataMovement mover = DataMovement.of(operation.view().output().type());
    return (inputs, outputs, scratch, work) -> {
      for (int b = 0; b < output.dimension(0); b++) {
        for (int y = 0; y < layout.height(output); y++) {
          int fromY = parameters.height().nearest(y);
          for (int x = 0; x < layout.width(output); x++) {
            int fromX = parameters.width().nearest(x);
            for (int c = 0; c < layout.channels(output); c++) {
              long source = sources.of(b, fromY, fromX, c);
              mover.copy(work, inputs[0], source, outputs[0], targets.of(b, y, x, c), 1);
            }
          }
        }
      }
    };
  }

  /** Reads the element at an index. */
  @FunctionalInterface
  private interface Reader {
    float get(long index);
  }

  /** Receives the value between cells for an element of the output. */
  @FunctionalInterface
  private interface Writer {
    void set(long index, float value);
  }

  private static Kernel bilinear(ResolvedOperation operation) {
    Elements elements = Elements.of(operation.view().output().type());
    Interpolation interpolation = new Interpolation(operation);
    return (inputs, outputs, scratch, work) ->
        interpolation.run(
            work,
            index -> elements.getFloat(inputs[0], index),
            (index, value) -> elements.setFloat(outputs[0], index, value));
  }

  /** Counts from the least stored value, so that both types round alike: to nearest, half up. */
  private static Kernel quantizedBilinear(ResolvedOperation operation) {
    OperandCode type = (OperandCode) operation.view().output().type();
    Elements elements = Elements.of(type);
    int least = IntRange.of(type).min();
    Interpolation interpolation = new Interpolation(operation);
    return (inputs, outputs, scratch, work) ->
        interpolation.run(
            work,
            index -> elements.getInt(inputs[0], index) - least,
            (index, value) -> elements.setInt(outputs[0], index, (int) (value + 0.5f) + least));
  }

  private static final class Interpolation {
    private final Parameters parameters;
    private final Shape output;
    private final Index4 sources;
    private final Index4 targets;

    Interpolation(ResolvedOperation operation) {
      parameters = operation.parameters(Parameters.class);
      output = operation.outputShape(0);
      sources = new Index4(parameters.layout(), operation.inputShape(0));
      targets = new Index4(parameters.layout(), output);
    }

    void run(WorkMeter work, Reader reader, Writer writer) {
      Sampling rows = parameters.height();
      Sampling columns = parameters.width();
      for (int b = 0; b < output.dimension(0); b++) {
        for (int y = 0; y < parameters.layout().height(output); y++) {
          float row = rows.position(y);
          int top = rows.lower(row);
          int bottom = rows.upper(row);
          float down = row - top;
          for (int x = 0; x < parameters.layout().width(output); x++) {
            float column = columns.position(x);
            int left = columns.lower(column);
            int right = columns.upper(column);
            float along = column - left;
            work.done(4L * parameters.layout().channels(output));
            for (int c = 0; c < parameters.layout().channels(output); c++) {
              float value =
                  reader.get(sources.of(b, top, left, c)) * (1 - down) * (1 - along)
                      + reader.get(sources.of(b, bottom, left, c)) * down * (1 - along)
                      + reader.get(sources.of(b, top, right, c)) * (1 - down) * along
                      + reader.get(sources.of(b, bottom, right, c)) * down * along;
              writer.set(targets.of(b, y, x, c), value);
            }
          }
        }
      }
    }
  }
}
