// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.Depthwise;
import io.thalamus.x86.kernel.Finish;
import io.thalamus.x86.kernel.Sums;
import java.util.List;
import java.util.Optional;

/**
 * A product of a row of each batch by constant weights, which are packed once for all steps. The
 * weights of a result stand beside each other; or there is one for each, of which each float sees
 * its own.
 */
final class StepProduct {
  private final ProgramBuilder program;
  private final int batches;
  private final int depth;
  private final int width;
  private final Finish finish;
  private final boolean isOfEach;
  private final List<Panel> panels;

  private StepProduct(
      ProgramBuilder program,
      int batches,
      int depth,
      int width,
      float[] weights,
      Optional<float[]> bias,
      Finish finish,
      boolean isOfEach) {
    this.program = program;
    this.batches = batches;
    this.depth = depth;
    this.width = width;
    this.finish = finish;
    this.isOfEach = isOfEach;
    panels =
        new Weights(
                Source.of(weights, program),
                bias.map(numbers -> Source.of(numbers, program)),
                0,
                1,
                depth)
            .new Packer(program, depth)
            .pack(
                width, Convolution.vectors(width, 1, program), isOfEach ? Long.MAX_VALUE : batches);
  }

  /** Returns a product that is added to what stands where it is written. */
  static StepProduct added(ProgramBuilder program, int batches, int depth, float[] weights) {
    int width = weights.length / depth;
    return new StepProduct(
        program, batches, depth, width, weights, Optional.empty(), Finish.ADDED, false);
  }

  /** Returns a product that is written, with its bias. */
  static StepProduct written(
      ProgramBuilder program, int batches, int depth, float[] weights, Optional<float[]> bias) {
    int width = weights.length / depth;
    return new StepProduct(program, batches, depth, width, weights, bias, Finish.NONE, false);
  }

  /** Returns the products of each float by its weight, which are added. */
  static StepProduct ofEach(ProgramBuilder program, int batches, float[] weights) {
    return new StepProduct(
        program, batches, 1, weights.length, weights, Optional.empty(), Finish.ADDED, true);
  }

  /**
   * Multiplies the rows of all batches; nothing that the program has begun may write there.
   *
   * @param step bytes from the row of one batch to that of the next
   * @param targetStep the same where results are written
   */
  void call(Place from, long at, int step, Place to, long target, int targetStep) {
    if (isOfEach) {
      panels.forEach(panel -> callOfEach(panel, from.at(at), step, to.at(target), targetStep));
      return;
    }
    Filter.ofRows(Results.ofLine(batches, step, targetStep), depth, width)
        .with(finish)
        .emit(panels, from.at(at), to.at(target), program);
  }

  private void callOfEach(Panel panel, Spot from, int step, Spot to, int targetStep) {
    Sums sums = new Sums(finish, panel.vectors(), panel.channels(), targetStep);
    long channel = (long) panel.channel() * Float.BYTES;
    program.call(
        new Depthwise(true, sums, 0, 1, 0, 0, Convolution.ONE, batches, 1, batches, step, 0),
        panel.count(),
        from.plus(channel),
        to.plus(channel),
        panel.at());
  }
}
