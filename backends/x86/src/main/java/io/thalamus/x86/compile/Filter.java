// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.kernel.Area;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Sums;
import io.thalamus.x86.kernel.Taps;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Results in lines, which are sums of products over the taps of a filter, and the calls that
 * compute them. Steps are bytes from what a result sees, or from where it stands, to the same of
 * the next one.
 *
 * @param batches of lines
 * @param lines of a batch
 * @param results of a line
 * @param channels of a result
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param run floats of a tap that stand beside each other
 * @param function that results become before they are stored
 */
record Filter(
    int batches,
    long batchStep,
    long resultBatchStep,
    int lines,
    int lineStep,
    int resultLineStep,
    int results,
    int rowStep,
    int resultStep,
    int channels,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int run,
    FusedActivation activation,
    Optional<Kind> function) {
  /** Products of a call: about a tenth of a millisecond. */
  private static final long MOST_PRODUCTS = 1 << 22;

  /** Products of a call that last much longer than the call: some microseconds. */
  private static final long LEAST_PRODUCTS = 1 << 18;

  /** Calls of an operation that are enough for any number of threads. */
  private static final int CALLS = 24;

  /** Returns how many products a call should compute, of all that an operation does. */
  static long productsOfCall(long all) {
    return Math.clamp(all / CALLS, LEAST_PRODUCTS, MOST_PRODUCTS);
  }

  /** Returns where one of some parts of equal sizes begins. */
  static int begin(int part, int parts, int all) {
    return (int) ((long) part * all / parts);
  }

  /** Returns one over rows of a matrix, each of whose results sees a whole row. */
  static Filter ofRows(int rows, int rowStep, int resultStep, int inner, int columns) {
    return new Filter(
        1,
        0,
        0,
        1,
        0,
        0,
        rows,
        rowStep,
        resultStep,
        columns,
        1,
        0,
        1,
        0,
        inner,
        FusedActivation.NONE,
        Optional.empty());
  }

  /** Returns the same whose results become others before they are stored. */
  Filter with(FusedActivation activation, Optional<Kind> function) {
    return new Filter(
        batches,
        batchStep,
        resultBatchStep,
        lines,
        lineStep,
        resultLineStep,
        results,
        rowStep,
        resultStep,
        channels,
        height,
        heightStep,
        width,
        widthStep,
        run,
        activation,
        function);
  }

  /** Returns the weights of a channel. */
  int depth() {
    return height * width * run;
  }

  /** Emits the functions and their calls, which write the results. */
  void emit(List<Panel> panels, Spot source, Spot output, ProgramBuilder program) {
    new Emission(false, panels, source, output, program).emit();
  }

  /** Emits the functions and their calls, which add the sums to what stands in the results. */
  void emitAdded(List<Panel> panels, Spot source, Spot output, ProgramBuilder program) {
    new Emission(true, panels, source, output, program).emit();
  }

  /** Some results of all lines of a batch, or of some lines. */
  private record Part(Area area, long from, long to) {}

  /** The calls for some panels. Used once. */
  private final class Emission {
    private final boolean isAdded;
    private final List<Panel> panels;
    private final Spot source;
    private final Spot output;
    private final ProgramBuilder program;

    /** Products of a call. */
    private final long products;

    Emission(
        boolean isAdded, List<Panel> panels, Spot source, Spot output, ProgramBuilder program) {
      this.isAdded = isAdded;
      this.panels = panels;
      this.source = source;
      this.output = output;
      this.program = program;
      products = productsOfCall((long) batches * lines * results * channels * depth());
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
      long bytes = Math.max(rowStep, lineStep / results) + (long) channels * Float.BYTES;
      long most = products / (panels.getFirst().channels() * (long) depth());
      List<Part> parts =
          parts(Math.max(1, isParted ? Math.min(most, Convolution.MOST_KEPT / bytes) : most));
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

    /** Returns equal parts of so many results at the most: some lines, or a part of a line. */
    private List<Part> parts(long most) {
      int rows = Sums.mostRows(program.emitter(), panels.getFirst().vectors());
      int blocks = Math.ceilDiv(results, rows);
      rows = Math.ceilDiv(results, blocks);
      int linesAtOnce = Math.clamp(most / results, 1, lines);
      int blocksAtOnce = most < results ? Math.clamp(most / rows, 1, blocks) : blocks;
      List<Part> parts = new ArrayList<>();
      for (int batch = 0; batch < batches; batch++) {
        int count = Math.ceilDiv(lines, linesAtOnce);
        for (int i = 0; i < count; i++) {
          int line = begin(i, count, lines);
          int end = begin(i + 1, count, lines);
          int counts = Math.ceilDiv(blocks, blocksAtOnce);
          for (int j = 0; j < counts; j++) {
            int block = begin(j, counts, blocks);
            parts.add(part(batch, line, end, block, begin(j + 1, counts, blocks), rows));
          }
        }
      }
      return parts;
    }

    /** Some blocks of some lines. The first blocks of a line have so many rows, others one less. */
    private Part part(int batch, int line, int endLine, int block, int endBlock, int rows) {
      int blocks = Math.ceilDiv(results, rows);
      int whole = results - (rows - 1) * blocks;
      int wholeHere = Math.clamp(whole - block, 0, endBlock - block);
      long result = (rows - 1L) * block + Math.min(block, whole);
      int lessHere = endBlock - block - wholeHere;
      Area area =
          wholeHere == 0
              ? new Area(endLine - line, rows - 1, lessHere, 0, rowStep, lineStep, resultLineStep)
              : new Area(
                  endLine - line, rows, wholeHere, lessHere, rowStep, lineStep, resultLineStep);
      return new Part(
          area,
          batch * batchStep + (long) line * lineStep + result * rowStep,
          batch * resultBatchStep + (long) line * resultLineStep + result * resultStep);
    }

    private long products(Panel panel, Part part) {
      return (long) part.area().lines() * part.area().results() * panel.channels() * depth();
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
          new Sums(isAdded, panel.vectors(), panel.channels(), resultStep, activation, function),
          area,
          height,
          heightStep,
          isJoined ? 1 : width,
          isJoined ? 0 : widthStep,
          isJoined ? width * run : run);
    }
  }
}
