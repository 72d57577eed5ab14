// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.Window;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.DepthwiseKernels;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Requantizer;
import io.thalamus.simd.kernel.ScalarKernels;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;

/**
 * A depthwise convolution, float or of 8-bit integers. A tile is some lines of the output. Floats
 * of whole vectors of channels are read where they stand; else the lines of the input are copied
 * with their padding, as floats less the zero point, channels filled up to whole vectors. Sums of
 * integers are exact, since there are few taps. Immutable and thread-safe.
 */
public final class Depthwise implements Step {
  /** True if the inputs of three lines fit into registers beside the weights. */
  private static final boolean ARE_REGISTERS_MANY = Lanes.COUNT >= 16;

  /** Taps of a line of the most usual filters beside those of three by three. */
  private static final int FIVE = 5;

  /** Pixels that a kernel takes together where a filter is of any size. */
  private static final int PIXELS = 4;

  private final Tensor source;
  private final Tensor output;
  private final Window height;
  private final Window width;
  private final float[] weights;
  private final float[] bias;
  private final Clamp clamp;

  /** Null for floats. */
  private final Requantizer requantizer;

  /** Output channels for each input channel. */
  private final int multiplier;

  /** Output channels, rounded up to whole vectors. */
  private final int channels;

  private final boolean isThreeByThree;

  /** True if the input is read in its place. */
  private final boolean inPlace;

  /** Pixels of a copied line. */
  private final int lineWidth;

  /** A line of the input, where it is read in place: it stands for lines beside the input. */
  private final float[] zeros;

  private final int blockLines;
  private final int blocks;

  private Depthwise(
      Node node,
      Tensor input,
      Tensor result,
      float[] weights,
      float[] bias,
      Requantizer stored,
      Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    // A line is copied whole, and its copy has to stay in a cache.
    boolean isColumn =
        Convolution.isColumn(parameters, input) && input.size() <= Budget.CACHED_FLOATS;
    source = isColumn ? input.turned() : input;
    output = isColumn ? result.turned() : result;
    height = isColumn ? parameters.width() : parameters.height();
    width = isColumn ? parameters.height() : parameters.width();
    this.weights = weights;
    this.bias = bias;
    this.clamp = Clamp.of(node.activation());
    this.requantizer = stored;
    multiplier = output.dimension(3) / source.dimension(3);
    channels = Lanes.roundUp(output.dimension(3));
    isThreeByThree = width.size() == 3 && height.size() == 3;
    inPlace = source.isFloat() && multiplier == 1 && channels == output.dimension(3);
    lineWidth = (output.dimension(2) - 1) * width.stride() + width.reach();
    zeros = new float[inPlace ? source.dimension(2) * channels + Lanes.SLACK : 0];
    int lines = output.dimension(0) * output.dimension(1);
    int tiles = budget.tiles((long) output.size() * width.size() * height.size());
    int most = inPlace ? lines : fitting(Budget.CACHED_FLOATS / (lineWidth * channels));
    blockLines = Math.clamp(Math.min((lines + tiles - 1) / tiles, most), 1, output.dimension(1));
    blocks = (output.dimension(1) + blockLines - 1) / blockLines;
  }

  /** Output lines whose input lines, so many of them, are at hand. */
  private int fitting(int inputLines) {
    return (inputLines - height.reach()) / height.stride() + 1;
  }

  static Step lower(Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    Tensor source = tensors.input(node, 0);
    Tensor output = tensors.output(node);
    OperandView filter = node.operation().view().input(1);
    OperandView bias = node.operation().view().input(2);
    Shape shape = filter.shape();
    int taps = shape.dimension(1) * shape.dimension(2);
    int channels = shape.dimension(3);
    if (parameters.quantized().isEmpty()) {
      float[] weights = pad(Stored.floats(filter.value().orElseThrow()), taps, channels);
      float[] start = pad(Stored.floats(bias.value().orElseThrow()), 1, channels);
      return new Depthwise(node, source, output, weights, start, null, budget);
    }
    int zeroPoint = parameters.quantized().get().filterZeroPoint();
    int[] stored = Stored.bytes(filter.value().orElseThrow(), filter.type());
    float[] weights = new float[stored.length];
    for (int i = 0; i < stored.length; i++) {
      weights[i] = stored[i] - zeroPoint;
    }
    Requantizer requantizer =
        new Requantizer(parameters.quantized().get(), Stored.ints(bias.value().orElseThrow()));
    return new Depthwise(
        node,
        source,
        output,
        pad(weights, taps, channels),
        pad(new float[0], 1, channels),
        requantizer,
        budget);
  }

  private static float[] pad(float[] values, int rows, int channels) {
    int distance = Lanes.roundUp(channels);
    float[] padded = new float[rows * distance];
    for (int i = 0; i < values.length; i++) {
      padded[i / channels * distance + i % channels] = values[i];
    }
    return padded;
  }

  @Override
  public int tiles() {
    return output.dimension(0) * blocks;
  }

  private int inputLines() {
    return (blockLines - 1) * height.stride() + height.reach();
  }

  /** Room for copied lines, if there are any: these, and behind them one line of sums. */
  @Override
  public int scratchFloats() {
    return inPlace ? 0 : (inputLines() * lineWidth + output.dimension(2)) * channels;
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int batch = tile / blocks;
    int first = tile % blocks * blockLines;
    int end = Math.min(output.dimension(1), first + blockLines);
    if (inPlace) {
      for (int line = first; line < end; line++) {
        lineInPlace(
            frame.isScalar,
            frame.floats(source),
            batch,
            line,
            frame.floats(output),
            outputLine(batch, line));
      }
      return;
    }
    int firstInput = height.cell(first, 0);
    int inputs = (end - first - 1) * height.stride() + height.reach();
    for (int line = 0; line < inputs; line++) {
      copyLine(frame, batch, firstInput + line, scratch, Lanes.LEAD + line * lineWidth * channels);
    }
    int sums = Lanes.LEAD + inputLines() * lineWidth * channels;
    for (int line = first; line < end; line++) {
      int from = Lanes.LEAD + (line - first) * height.stride() * lineWidth * channels;
      lineOfCopies(frame.isScalar, scratch.floats, from, sums);
      storeLine(frame, scratch, sums, outputLine(batch, line));
    }
  }

  private int outputLine(int batch, int line) {
    return output.offset()
        + (batch * output.dimension(1) + line) * output.dimension(2) * output.dimension(3);
  }

  /** One line of the output, from copied lines, which have no borders. */
  private void lineOfCopies(boolean isScalar, float[] in, int from, int to) {
    int tap = width.dilation() * channels;
    int line = height.dilation() * lineWidth * channels;
    int pixel = width.stride() * channels;
    int count = output.dimension(2);
    if (isThreeByThree) {
      threeByThree(
          isScalar, in, from, in, from + line, in, from + 2 * line, tap, pixel, in, to, count);
    } else {
      rectangles(isScalar, in, from, line, 0, height.size(), in, to, count);
    }
  }

  /** One line of the output, from the input itself: pixels at its ends have fewer taps. */
  private void lineInPlace(
      boolean isScalar, float[] in, int batch, int outputLine, float[] out, int to) {
    int lineSize = source.dimension(2) * channels;
    int origin = height.cell(outputLine, 0);
    int image = source.offset() + batch * source.dimension(1) * lineSize;
    int count = output.dimension(2);
    int stride = width.stride();
    // Pixels whose taps are all on the line, from one on to before another.
    int begin = Math.clamp((width.before() + stride - 1) / stride, 0, count);
    int room = source.dimension(2) - width.reach() + width.before();
    int end = room < 0 ? begin : Math.clamp(room / stride + 1, begin, count);
    int inside = (begin * stride - width.before()) * channels;
    int firstY = height.firstTap(outputLine);
    int endY = height.endTap(outputLine, source.dimension(1));
    if (!isThreeByThree) {
      int line = height.dilation() * lineSize;
      int from = image + origin * lineSize + inside;
      rectangles(isScalar, in, from, line, firstY, endY, out, to + begin * channels, end - begin);
    } else if (begin < end) {
      int upper = origin;
      int middle = origin + height.dilation();
      int lower = origin + 2 * height.dilation();
      threeByThree(
          isScalar,
          lineOf(in, upper),
          inside + lineAt(image, upper),
          lineOf(in, middle),
          inside + lineAt(image, middle),
          lineOf(in, lower),
          inside + lineAt(image, lower),
          width.dilation() * channels,
          stride * channels,
          out,
          to + begin * channels,
          end - begin);
    }
    for (int x = 0; x < begin; x++) {
      borderPixel(isScalar, in, image, origin, firstY, endY, x, out, to + x * channels);
    }
    for (int x = end; x < count; x++) {
      borderPixel(isScalar, in, image, origin, firstY, endY, x, out, to + x * channels);
    }
  }

  private boolean isBeside(int line) {
    return line < 0 || line >= source.dimension(1);
  }

  private float[] lineOf(float[] in, int line) {
    return isBeside(line) ? zeros : in;
  }

  private int lineAt(int image, int line) {
    return isBeside(line) ? 0 : image + line * source.dimension(2) * channels;
  }

  /** A pixel some of whose taps may be beside the input. */
  private void borderPixel(
      boolean isScalar,
      float[] in,
      int image,
      int originY,
      int firstY,
      int endY,
      int x,
      float[] out,
      int to) {
    int originX = width.cell(x, 0);
    int firstX = width.firstTap(x);
    int endX = width.endTap(x, source.dimension(2));
    if (isThreeByThree && endX - firstX == 2) {
      int upper = originY;
      int middle = originY + height.dilation();
      int lower = originY + 2 * height.dilation();
      int at = (originX + firstX * width.dilation()) * channels;
      float[] line0 = lineOf(in, upper);
      float[] line1 = lineOf(in, middle);
      float[] line2 = lineOf(in, lower);
      int at0 = at + lineAt(image, upper);
      int at1 = at + lineAt(image, middle);
      int at2 = at + lineAt(image, lower);
      int tap = width.dilation() * channels;
      int weight = firstX * channels;
      int all = channels;
      int low = clamp.low();
      int high = clamp.high();
      if (isScalar) {
        ScalarKernels.twoTaps(
            line0, at0, line1, at1, line2, at2, tap, weights, weight, all, bias, out, to, low,
            high);
      } else {
        DepthwiseKernels.twoTaps(
            line0, at0, line1, at1, line2, at2, tap, weights, weight, all, bias, out, to, all, low,
            high);
      }
      return;
    }
    int lineSize = source.dimension(2) * channels;
    int at = image + originY * lineSize + originX * channels;
    rectangle(isScalar, in, at, height.dilation() * lineSize, firstY, endY, firstX, endX, out, to);
  }

  /** Neighbouring pixels that see all taps of a line. */
  private void rectangles(
      boolean isScalar,
      float[] in,
      int at,
      int line,
      int firstY,
      int endY,
      float[] out,
      int to,
      int count) {
    int pixel = width.stride() * channels;
    int tap = width.dilation() * channels;
    int all = channels;
    int columns = width.size();
    int next = columns * all;
    int rows = endY - firstY;
    int weight = firstY * next;
    int x = 0;
    for (; !isScalar && x <= count - PIXELS; x += PIXELS) {
      int from = at + firstY * line + x * pixel;
      int target = to + x * all;
      if (columns == FIVE && pixel == tap) {
        DepthwiseKernels.fourOfFive(
            in, from, line, tap, rows, weights, weight, all, bias, out, target);
      } else {
        DepthwiseKernels.fourRectangles(
            in, from, pixel, line, tap, rows, columns, weights, weight, next, all, bias, out,
            target);
      }
    }
    DepthwiseKernels.clamp(out, to, x * all, clamp.low(), clamp.high());
    for (; x < count; x++) {
      int from = at + x * pixel;
      int target = to + x * all;
      rectangle(isScalar, in, from, line, firstY, endY, 0, width.size(), out, target);
    }
  }

  private void rectangle(
      boolean isScalar,
      float[] in,
      int at,
      int line,
      int firstY,
      int endY,
      int firstX,
      int endX,
      float[] out,
      int to) {
    int tap = width.dilation() * channels;
    int from = at + firstY * line + firstX * tap;
    int rows = endY - firstY;
    int columns = endX - firstX;
    int weight = (firstY * width.size() + firstX) * channels;
    int next = width.size() * channels;
    int all = channels;
    int low = clamp.low();
    int high = clamp.high();
    if (isScalar) {
      ScalarKernels.rectangle(
          in, from, line, tap, rows, columns, weights, weight, next, all, bias, out, to, low, high);
    } else {
      DepthwiseKernels.rectangle(
          in, from, line, tap, rows, columns, weights, weight, next, all, bias, out, to, all, low,
          high);
    }
  }

  private void threeByThree(
      boolean isScalar,
      float[] line0,
      int at0,
      float[] line1,
      int at1,
      float[] line2,
      int at2,
      int tap,
      int pixel,
      float[] out,
      int to,
      int count) {
    int low = clamp.low();
    int high = clamp.high();
    if (isScalar) {
      ScalarKernels.threeByThree(
          line0, at0, line1, at1, line2, at2, tap, pixel, weights, channels, bias, out, to, count,
          low, high);
      return;
    }
    int all = channels;
    int x = 0;
    if (ARE_REGISTERS_MANY && pixel == tap) {
      for (int i = 0; i < all; i += Lanes.COUNT) {
        int from0 = at0 + i;
        int from1 = at1 + i;
        int from2 = at2 + i;
        int target = to + i;
        DepthwiseKernels.alongNeighbours(
            line0, from0, line1, from1, line2, from2, tap, weights, all, bias, i, out, target, all,
            count, low, high);
      }
      return;
    }
    for (; pixel == 2 * tap && x <= count - 2; x += 2) {
      int from0 = at0 + x * pixel;
      int from1 = at1 + x * pixel;
      int from2 = at2 + x * pixel;
      int target = to + x * all;
      DepthwiseKernels.twoApart(
          line0, from0, line1, from1, line2, from2, tap, weights, all, bias, out, target, all, all,
          low, high);
    }
    int rest = count - x;
    for (int i = 0; rest > 0 && i < all; i += Lanes.COUNT) {
      int from0 = at0 + x * pixel + i;
      int from1 = at1 + x * pixel + i;
      int from2 = at2 + x * pixel + i;
      int target = to + x * all + i;
      DepthwiseKernels.alongPixels(
          line0, from0, line1, from1, line2, from2, tap, pixel, weights, all, bias, i, out, target,
          all, rest, low, high);
    }
  }

  private void copyLine(Frame frame, int batch, int line, Scratch scratch, int to) {
    float[] out = scratch.floats;
    if (isBeside(line)) {
      Arrays.fill(out, to, to + lineWidth * channels, 0);
      return;
    }
    int inputChannels = source.dimension(3);
    int inputWidth = source.dimension(2);
    int from = source.offset() + (batch * source.dimension(1) + line) * inputWidth * inputChannels;
    int before = Math.min(width.before(), lineWidth);
    int inside = Math.clamp(lineWidth - before, 0, inputWidth);
    Arrays.fill(out, to, to + before * channels, 0);
    int at = to + before * channels;
    boolean isWhole = inputChannels == channels;
    Patches.copyRuns(
        frame,
        source,
        from,
        inputChannels,
        out,
        at,
        channels,
        isWhole ? inside * channels : inputChannels,
        isWhole ? 1 : inside);
    if (multiplier > 1) {
      for (int x = 0; x < inside; x++) {
        repeat(out, at + x * channels, inputChannels);
      }
    }
    Arrays.fill(out, at + inside * channels, to + lineWidth * channels, 0);
  }

  /** Each channel as often as there are outputs of it, from the last one on, in place. */
  private void repeat(float[] out, int at, int inputChannels) {
    for (int i = inputChannels * multiplier - 1; i >= 0; i--) {
      out[at + i] = out[at + i / multiplier];
    }
  }

  private void storeLine(Frame frame, Scratch scratch, int sums, int to) {
    int present = output.dimension(3);
    int pixels = output.dimension(2);
    if (requantizer != null) {
      requantizer.store(
          frame.isScalar,
          scratch.floats,
          sums,
          channels,
          pixels,
          0,
          present,
          frame.bytes(output),
          to,
          present,
          scratch.spareBytes);
      return;
    }
    for (int x = 0; x < pixels; x++) {
      int at = sums + x * channels;
      System.arraycopy(scratch.floats, at, frame.floats(output), to + x * present, present);
    }
  }
}
