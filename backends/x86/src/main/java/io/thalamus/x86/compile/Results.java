// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Shape;
import io.thalamus.operations.Window;
import io.thalamus.x86.kernel.Area;
import java.util.ArrayList;
import java.util.List;

/**
 * Results in lines, of which each is a sum over what it sees. Steps are bytes from what a result
 * sees, or from where it stands, to the same of the next one.
 *
 * @param batches of lines
 * @param lines of a batch
 * @param results of a line
 */
record Results(
    int batches,
    long batchStep,
    long resultBatchStep,
    int lines,
    int lineStep,
    int resultLineStep,
    int results,
    int rowStep,
    int resultStep) {
  /** Products of a call: about a tenth of a millisecond. */
  static final long MOST_PRODUCTS = 1 << 22;

  /** Products of other layers that take as long as one of a layer whose channels see themselves. */
  static final int PRODUCTS_OF_DEPTHWISE = 4;

  /** Products of a call that last much longer than the call: some microseconds. */
  private static final long LEAST_PRODUCTS = 1 << 18;

  /** Calls of an operation that are enough for any number of threads. */
  private static final int CALLS = 24;

  /** Returns some in one line. */
  static Results ofLine(int results, int rowStep, int resultStep) {
    return new Results(1, 0, 0, 1, 0, 0, results, rowStep, resultStep);
  }

  /**
   * Returns all results of a layer whose source stands with its padding, channels last.
   *
   * @param input without the padding
   * @param element bytes of one of the source
   * @param resultStep bytes from one result to the next
   */
  static Results of(
      Shape input, Shape output, Window height, Window width, int element, int resultStep) {
    int cell = input.dimension(3) * element;
    int line = (input.dimension(2) + width.before() + width.after()) * cell;
    int lines = output.dimension(1);
    int resultLine = output.dimension(2) * resultStep;
    return new Results(
        output.dimension(0),
        (long) (input.dimension(1) + height.before() + height.after()) * line,
        (long) lines * resultLine,
        lines,
        lines == 1 ? 0 : height.stride() * line,
        resultLine,
        output.dimension(2),
        width.stride() * cell,
        resultStep);
  }

  /** Returns how many products a call should compute, of all that an operation does. */
  static long productsOfCall(long all) {
    return Math.clamp(all / CALLS, LEAST_PRODUCTS, MOST_PRODUCTS);
  }

  /** Returns how many there are. */
  long count() {
    return (long) batches * lines * results;
  }

  /**
   * Some of the results of a batch.
   *
   * @param from bytes from what the first of all sees to what the first of these does
   * @param to bytes from the first of all to the first of these
   */
  record Part(Area area, long from, long to) {
    /** Returns how many there are. */
    long count() {
      return (long) area.lines() * area.results();
    }
  }

  /**
   * Returns parts of equal sizes: some lines, or a part of a line.
   *
   * @param mostRows neighbours that a function can compute together
   * @param most results of a part
   */
  List<Part> parts(int mostRows, long most) {
    int blocks = Math.ceilDiv(results, mostRows);
    int rows = Math.ceilDiv(results, blocks);
    int linesAtOnce = Math.clamp(most / results, 1, lines);
    int blocksAtOnce = most < results ? Math.clamp(most / rows, 1, blocks) : blocks;
    int ofLines = Math.ceilDiv(lines, linesAtOnce);
    int ofBlocks = Math.ceilDiv(blocks, blocksAtOnce);
    List<Part> parts = new ArrayList<>();
    for (int batch = 0; batch < batches; batch++) {
      for (int i = 0; i < ofLines; i++) {
        int line = begin(i, ofLines, lines);
        int endLine = begin(i + 1, ofLines, lines);
        for (int j = 0; j < ofBlocks; j++) {
          int block = begin(j, ofBlocks, blocks);
          int endBlock = begin(j + 1, ofBlocks, blocks);
          parts.add(part(batch, line, endLine, block, endBlock, rows));
        }
      }
    }
    return parts;
  }

  /** Returns where one of some parts of equal sizes begins. */
  static int begin(int part, int parts, int all) {
    return (int) ((long) part * all / parts);
  }

  /** Some blocks of some lines. The first blocks of a line have so many rows, others one less. */
  private Part part(int batch, int line, int endLine, int block, int endBlock, int rows) {
    int whole = results - (rows - 1) * Math.ceilDiv(results, rows);
    int wholeHere = Math.clamp(whole - block, 0, endBlock - block);
    int lessHere = endBlock - block - wholeHere;
    int lines = endLine - line;
    long result = (rows - 1L) * block + Math.min(block, whole);
    Area area =
        wholeHere == 0
            ? new Area(lines, rows - 1, lessHere, 0, rowStep, lineStep, resultLineStep)
            : new Area(lines, rows, wholeHere, lessHere, rowStep, lineStep, resultLineStep);
    return new Part(
        area,
        batch * batchStep + (long) line * lineStep + result * rowStep,
        batch * resultBatchStep + (long) line * resultLineStep + result * resultStep);
  }
}
