// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.x86.compile.Lowering.Target;
import io.thalamus.x86.kernel.Depthwise;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.Sums;
import java.util.ArrayList;
import java.util.List;

/**
 * A layer of floats whose channels see themselves alone. Lines of results that see the same lines
 * of the filter have a function, so that those at an edge need no copy between zeros. Used once.
 */
final class Channels {
  /** Floats of a call that repeats channels. */
  private static final int MOST_REPEATED = 1 << 15;

  private final ProgramBuilder program;
  private final Parameters parameters;
  private final Lowering.Operands operands;
  private final Shape result;
  private final int channels;
  private final int cell;
  private final Target target;
  private final List<Panel> panels;
  private Shape input;
  private Place source;
  private Window height;
  private Window width;

  private Channels(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    this.program = program;
    this.operands = operands;
    parameters = operation.parameters(Parameters.class);
    result = operation.outputShape(0);
    channels = result.dimension(3);
    cell = channels * Float.BYTES;
    target = operands.target(cell);
    input = operation.inputShape(0);
    source = operands.input(0);
    if (input.dimension(3) != channels) {
      source = repeat(input, Float.BYTES, channels / input.dimension(3), source, program);
      input = input.with(3, channels);
    }
    height = parameters.height();
    width = parameters.width();
    if (Math.max(height.size(), width.size()) > Depthwise.MOST_TAPS) {
      source = Convolution.pad(input, height, width, source, program);
      input =
          input
              .with(1, input.dimension(1) + height.before() + height.after())
              .with(2, input.dimension(2) + width.before() + width.after());
      height = new Window(height.size(), height.stride(), height.dilation(), 0, 0);
      width = new Window(width.size(), width.stride(), width.dilation(), 0, 0);
    }
    panels =
        Convolution.weights(operation, operands, channels, 1)
            .new Packer(program, height.size() * width.size())
            .pack(channels, Convolution.vectors(channels, result.dimension(2), program));
  }

  static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    new Channels(operation, operands, program).emit();
  }

  /**
   * Each channel as often as there are filters for it.
   *
   * @param size bytes of an element
   */
  static Place repeat(Shape input, int size, int times, Place from, ProgramBuilder program) {
    int count = Math.toIntExact(input.elementCount());
    Place to = program.place((long) count * times * size);
    for (int at = 0; at < count; at += MOST_REPEATED) {
      int part = Math.min(MOST_REPEATED, count - at);
      Strided copy = new Strided(size, part, size, times * size, 0, 0);
      for (int i = 0; i < times; i++) {
        program.call(copy, from.at((long) at * size), to.at(((long) at * times + i) * size));
      }
    }
    return to;
  }

  /**
   * Neighbouring lines of results of a batch that see the same lines of the filter.
   *
   * @param first line
   * @param from the first line of the source that this one sees
   * @param above lines of the filter above the source
   * @param seen lines of the filter in the source
   */
  private record Lines(int first, int count, int from, int above, int seen) {}

  /**
   * Emits the functions and their calls, all panels of some lines before the next lines: these stay
   * in a cache, while panels read and write them again and again.
   */
  private void emit() {
    long read = (long) input.dimension(2) * height.stride();
    long kept = Convolution.MOST_KEPT / ((read + result.dimension(2)) * cell);
    long all = products(input.dimension(0) * result.dimension(1), channels);
    long products = Results.productsOfCall(all);
    long most = Math.min(kept, products / products(1, panels.getFirst().channels()));
    List<Lines> parts = parts(Math.clamp(most, 1, result.dimension(1)));
    for (int batch = 0; batch < input.dimension(0); batch++) {
      for (Lines part : parts) {
        for (Panel panel : panels) {
          call(part, panel, batch, products / products(part.count(), panel.channels()));
        }
      }
    }
  }

  /** Returns the products of some lines, as layers have them whose channels see each other. */
  private long products(int lines, int channels) {
    return (long) lines
        * result.dimension(2)
        * channels
        * height.size()
        * width.size()
        * Results.PRODUCTS_OF_DEPTHWISE;
  }

  /** Returns the lines, so many at the most at a time. */
  private List<Lines> parts(int most) {
    List<Lines> parts = new ArrayList<>();
    for (Lines lines : lines()) {
      int count = Math.ceilDiv(lines.count(), most);
      for (int i = 0; i < count; i++) {
        int begin = Results.begin(i, count, lines.count());
        parts.add(
            new Lines(
                lines.first() + begin,
                Results.begin(i + 1, count, lines.count()) - begin,
                lines.from() + begin * height.stride(),
                lines.above(),
                lines.seen()));
      }
    }
    return parts;
  }

  private List<Lines> lines() {
    List<Lines> all = new ArrayList<>();
    for (int line = 0; line < result.dimension(1); line++) {
      int above = height.firstTap(line);
      int end = height.endTap(line, input.dimension(1));
      int from = above == end ? 0 : height.cell(line, above);
      Lines last = all.isEmpty() ? null : all.getLast();
      if (end > above && last != null && last.above() == above && last.seen() == end - above) {
        all.set(
            all.size() - 1,
            new Lines(last.first(), last.count() + 1, last.from(), above, end - above));
      } else {
        all.add(new Lines(line, 1, from, above, end - above));
      }
    }
    return all;
  }

  private void call(Lines lines, Panel panel, int batch, long most) {
    Depthwise function =
        new Depthwise(
            panel.at().place() == null,
            new Sums(
                operands.finish(parameters.activation()),
                panel.vectors(),
                panel.channels(),
                target.step()),
            lines.above(),
            lines.seen(),
            height.size() - lines.above() - lines.seen(),
            height.dilation() * input.dimension(2) * cell,
            width,
            input.dimension(2),
            lines.count(),
            result.dimension(2),
            cell,
            height.stride() * input.dimension(2) * cell);
    long from = (long) batch * input.dimension(1) + lines.from();
    long to = (long) batch * result.dimension(1) + lines.first();
    long channel = (long) panel.channel() * Float.BYTES;
    program.callInParts(
        function,
        panel.count(),
        Math.max(1, most),
        source.at(from * input.dimension(2) * cell + channel),
        target.at().plus(to * result.dimension(2) * target.step() + channel),
        panel.at());
  }
}
