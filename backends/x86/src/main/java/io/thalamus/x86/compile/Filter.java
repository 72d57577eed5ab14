// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Shape;
import io.thalamus.operations.Window;
import io.thalamus.x86.compile.Results.Part;
import io.thalamus.x86.kernel.Area;
import io.thalamus.x86.kernel.Finish;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.Sums;
import io.thalamus.x86.kernel.Taps;
import java.util.List;

/**
 * Sums of products over the taps of a filter, and the calls that compute them.
 *
 * @param channels of a result
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param run floats of a tap that stand beside each other
 * @param finish what sums become
 */
record Filter(
    Results results,
    int channels,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int run,
    Finish finish) {
  /** Sums that are added to at the same time, so that none waits for itself. */
  private static final int SUMS_AT_ONCE = 8;

  /** Parts of a sum at most: as many as taps of a step of a loop. */
  private static final int MOST_PARTS = 4;

  /** Weights of a channel for which parts are worth their own sums. */
  private static final int LEAST_DEPTH = 16;

  /** Returns one whose results each see a whole row of a matrix. */
  static Filter ofRows(Results results, int inner, int columns) {
    return new Filter(results, columns, 1, 0, 1, 0, inner, Finish.NONE);
  }

  /**
   * Returns that of a layer whose source stands with its padding, channels last.
   *
   * @param input without the padding
   * @param run channels that a result sees
   * @param channels of a result
   * @param resultStep bytes from one result to the next
   */
  static Filter of(
      Shape input,
      Shape output,
      Window height,
      Window width,
      int run,
      int channels,
      int resultStep) {
    int cell = input.dimension(3) * Float.BYTES;
    return new Filter(
        Results.of(input, output, height, width, Float.BYTES, resultStep),
        channels,
        height.size(),
        height.dilation() * (input.dimension(2) + width.before() + width.after()) * cell,
        width.size(),
        width.dilation() * cell,
        run,
        Finish.NONE);
  }

  /** Returns the same whose sums become others. */
  Filter with(Finish finish) {
    return new Filter(results, channels, height, heightStep, width, widthStep, run, finish);
  }

  /** Returns the weights of a channel. */
  int depth() {
    return height * width * run;
  }

  /** Emits the functions and their calls, which write the results. */
  void emit(List<Panel> panels, Spot source, Spot output, ProgramBuilder program) {
    new Emission(panels, source, output, program).emit();
  }

  /** The calls for some panels. Used once. */
  private final class Emission {
    private final List<Panel> panels;
    private final Spot source;
    private final Spot output;
    private final ProgramBuilder program;

    /** Products of a call. */
    private final long products;

    Emission(List<Panel> panels, Spot source, Spot output, ProgramBuilder program) {
      this.panels = panels;
      this.source = source;
      this.output = output;
      this.program = program;
      products = Results.productsOfCall(results.count() * channels * depth());
    }

    /**
     * Panel by panel: weights stay in a cache. Where there are few of them, all panels follow for a
     * part of the results before the next part: then it is the part that stays there, while its
     * panels read and write it again and again.
     */
    void emit() {
      boolean isSingle = panels.size() == 1 && panels.getFirst().count() == 1;
      boolean isParted =
          !isSingle && (long) depth() * channels * Float.BYTES <= Convolution.MOST_KEPT;
      long read = Math.max(results.rowStep(), results.lineStep() / results.results());
      long bytes = read + (long) channels * Float.BYTES;
      long most = products / (panels.getFirst().channels() * (long) depth());
      List<Part> parts =
          results.parts(
              Sums.mostRows(program.emitter(), panels.getFirst().vectors()),
              isParted ? Math.min(most, Convolution.MOST_KEPT / bytes) : most);
      if (isParted) {
        parts.forEach(part -> panels.forEach(panel -> call(panel, 0, panel.count(), part)));
        return;
      }
      for (Panel panel : panels) {
        int some = most(panel, parts.getFirst());
        for (int i = 0; i < panel.count(); i += some) {
          int first = i;
          int count = Math.min(some, panel.count() - i);
          parts.forEach(part -> call(panel, first, count, part));
        }
      }
    }

    /** Returns how many panels a call multiplies. */
    private int most(Panel panel, Part part) {
      long most = Math.max(1, products / products(panel, part));
      return (int) Math.ceilDiv(panel.count(), Math.ceilDiv(panel.count(), most));
    }

    private long products(Panel panel, Part part) {
      return part.count() * panel.channels() * depth();
    }

    private void call(Panel panel, int first, int count, Part part) {
      Function function = taps(panel, part.area()).emit(program.emitter());
      long channel = panel.channel() + (long) first * panel.channels();
      program.callInParts(
          function,
          count,
          most(panel, part),
          source.plus(part.from()),
          output.plus(part.to() + channel * Float.BYTES),
          panel.at().plus(first * function.other().next()));
      program.multiplied(products(panel, part) * count);
    }

    private Taps taps(Panel panel, Area area) {
      boolean isJoined = widthStep == run * Float.BYTES;
      return new Taps(
          panel.at().place() == null,
          new Sums(
              finish, panel.vectors(), panel.channels(), results.resultStep(), panel.areBytes()),
          area,
          height,
          heightStep,
          isJoined ? 1 : width,
          isJoined ? 0 : widthStep,
          isJoined ? width * run : run,
          parts());
    }

    /**
     * Returns the parts of each sum, the same for all results, of which equal ones are equal to the
     * bit then: a few sums would wait for the latency of each addition.
     */
    private int parts() {
      if (results.count() > Convolution.FEW || depth() < LEAST_DEPTH) {
        return 1;
      }
      int sums = (int) results.count() * panels.getFirst().vectors();
      return Integer.highestOneBit(Math.clamp(SUMS_AT_ONCE / sums, 1, MOST_PARTS));
    }
  }
}
