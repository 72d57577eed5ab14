// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.kernel.Sums;
import io.thalamus.x86.kernel.Taps;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Results of a filter with constant weights, which stand in lines.
 *
 * @param channels of a result
 * @param weights by channel, then by tap
 * @param bias by channel
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param run floats of a tap
 * @param rowStep bytes from what one result of a line sees to what the next does
 * @param resultStep bytes from one result of a line to the next
 */
record TapLines(
    int channels,
    float[] weights,
    float[] bias,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int run,
    int rowStep,
    int resultStep,
    FusedActivation activation) {
  /** Vectors of channels at a time. */
  private static final int VECTORS = 2;

  /**
   * A line.
   *
   * @param from the byte of the source that the first result sees first
   * @param to the byte of the output where it goes
   */
  record Line(long from, long to) {}

  /**
   * Emits the functions of all panels, and their calls panel by panel: weights stay in a cache.
   *
   * @param results of each line
   */
  void emit(List<Line> lines, int results, Place source, Place output, ProgramBuilder program) {
    int depth = height * width * run;
    List<Panel> panels =
        new Weights(
                Weights.Source.of(weights, program),
                Optional.of(Weights.Source.of(bias, program)),
                0,
                1,
                depth)
            .new Packer(program, depth)
            .pack(channels, VECTORS);
    int most = Sums.mostRows(program.emitter(), panels.getFirst().vectors());
    int rows = Math.ceilDiv(results, Math.ceilDiv(results, most));
    for (Panel panel : panels) {
      List<Call> calls = new ArrayList<>();
      calls.add(new Call(taps(rows, panel), 0, results / rows));
      if (results % rows > 0) {
        calls.add(new Call(taps(results % rows, panel), results / rows * rows, 1));
      }
      for (Line line : lines) {
        calls.forEach(call -> emit(call, line, panel, source, output, program));
      }
    }
  }

  private record Call(Taps taps, int first, int blocks) {}

  private void emit(
      Call call, Line line, Panel panel, Place source, Place output, ProgramBuilder program) {
    Taps taps = call.taps();
    long products = (long) taps.rows() * panel.channels() * height * width * run;
    int most = (int) Math.max(1, Convolution.MOST_PRODUCTS / products);
    program.callInParts(
        taps,
        call.blocks(),
        most,
        source.at(line.from() + (long) call.first() * rowStep),
        output.at(
            line.to() + (long) call.first() * resultStep + (long) panel.channel() * Float.BYTES),
        panel.at());
  }

  private Taps taps(int rows, Panel panel) {
    boolean isJoined = widthStep == run * Float.BYTES;
    return new Taps(
        true,
        new Sums(
            false, panel.vectors(), panel.channels(), resultStep, activation, Optional.empty()),
        rows,
        height,
        heightStep,
        isJoined ? 1 : width,
        isJoined ? 0 : widthStep,
        isJoined ? width * run : run,
        rowStep);
  }
}
