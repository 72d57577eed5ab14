// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.Window;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Vector;
import java.util.ArrayList;
import java.util.List;

/**
 * Sums of products over the taps of a filter, each channel for itself, of whole lines of results,
 * panel by panel: each panel is the bias, then the weights of each tap. What the next one needs
 * stands behind it, and beside what it sees and its results. Padding stands nowhere: a block at an
 * edge has no products by taps that are outside of the source.
 *
 * @param isConstant whether the panel stands among the constants, else in memory
 * @param sums where results go
 * @param above lines of the filter above the source, whose weights are passed over
 * @param height lines of the filter in the source
 * @param below lines of the filter below the source
 * @param heightStep bytes from one of these to the next
 * @param width of the filter; one of more than {@link #MOST_TAPS} taps has no padding
 * @param columns of a line of the source
 * @param lines of results, which stand one behind the other
 * @param results of a line
 * @param cell bytes from one column of the source to the next
 * @param lineStep bytes from what one line sees to what the next does
 */
public record Depthwise(
    boolean isConstant,
    Sums sums,
    int above,
    int height,
    int below,
    int heightStep,
    Window width,
    int columns,
    int lines,
    int results,
    int cell,
    int lineStep)
    implements FunctionSource {
  /** Taps beside each other, whose code is written tap by tap. */
  public static final int MOST_TAPS = 1 << 4;

  /**
   * Some blocks of a line that see the same taps.
   *
   * @param first result
   * @param rows of a block
   * @param count of blocks
   */
  private record Blocks(int first, int rows, int count) {}

  /** Returns the function: o0 is the first cell, o1 the result, o2 the panel, which is a block. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    emitter.begin(isConstant);
    a.push(Gpr.RBX);
    Label again = a.label();
    Loops.repeat(a, Gpr.RBX, lines, () -> line(emitter));
    Extent panel = sums.panel(emitter, (above + height + below) * (long) width.size());
    int resultLine = results * sums.step();
    Loops.advance(a, Gpr.RDX, sums.bytes() - lines * lineStep);
    Loops.advance(a, Gpr.RCX, sums.bytes() - lines * resultLine);
    Loops.advance(a, Gpr.R8, Math.toIntExact(panel.next()));
    a.countDown(Gpr.R9, again);
    a.pop(Gpr.RBX);
    a.vzeroupper();
    long seen = seen();
    return emitter.end(
        seen == 0 ? Extent.NONE : new Extent((lines - 1L) * lineStep + seen, sums.bytes()),
        new Extent(((long) lines * results - 1) * sums.step() + sums.bytes(), sums.bytes()),
        panel,
        isConstant);
  }

  private void line(Emitter emitter) {
    Assembler a = emitter.assembler();
    for (Blocks blocks : blocks(emitter)) {
      Loops.repeat(
          a,
          Gpr.R10,
          blocks.count(),
          () -> {
            block(emitter, blocks);
            a.emit(Alu.ADD, Gpr.RDX, blocks.rows() * width.stride() * cell);
            a.emit(Alu.ADD, Gpr.RCX, blocks.rows() * sums.step());
          });
    }
    a.emit(Alu.ADD, Gpr.RDX, lineStep - results * width.stride() * cell);
  }

  /** Returns the bytes of what a line sees; 0 where all taps are outside. */
  private long seen() {
    int last = -1;
    for (int result = 0; result < results; result++) {
      int end = width.endTap(result, columns);
      if (width.firstTap(result) < end) {
        last = Math.max(last, width.cell(result, end - 1));
      }
    }
    return height == 0 || last < 0
        ? 0
        : (height - 1L) * heightStep + (long) last * cell + sums.bytes();
  }

  private boolean isInside(int result, int tap) {
    return tap >= width.firstTap(result) && tap < width.endTap(result, columns);
  }

  private List<Blocks> blocks(Emitter emitter) {
    int most = Sums.mostRows(emitter, sums.vectors());
    int rows = Math.ceilDiv(results, Math.ceilDiv(results, most));
    List<Blocks> all = new ArrayList<>();
    int first = 0;
    while (first < results) {
      int some = Math.min(rows, results - first);
      int count = 1;
      while (isWhole(first, some) && isWhole(first + count * some, some)) {
        count++;
      }
      all.add(new Blocks(first, some, count));
      first += count * some;
    }
    return all;
  }

  /** Returns true if some results are there, and see no padding beside the source. */
  private boolean isWhole(int first, int rows) {
    int last = first + rows - 1;
    return last < results && isInside(first, 0) && isInside(last, width.size() - 1);
  }

  private void block(Emitter emitter, Blocks blocks) {
    Assembler a = emitter.assembler();
    int tap = sums.vectors() * emitter.length().bytes();
    // The mask takes rax.
    sums.setTail(emitter);
    sums.begin(emitter, blocks.rows());
    int taps = width.size() > MOST_TAPS ? 1 : width.size();
    a.lea(Gpr.RAX, Address.at(Gpr.R8, (1 + above * width.size()) * tap));
    a.mov(Gpr.RDI, Gpr.RDX);
    Loops.window(
        a,
        Gpr.RDI,
        Gpr.R11,
        height,
        heightStep,
        Gpr.RSI,
        width.size() / taps,
        taps == 1 ? width.dilation() * cell : 0,
        0,
        () -> {
          for (int x = 0; x < taps; x++) {
            tap(emitter, blocks, x);
          }
          a.emit(Alu.ADD, Gpr.RAX, taps * tap);
        });
    sums.store(emitter, blocks.rows());
  }

  /** Adds the products by a tap of those results that have it inside of the source. */
  private void tap(Emitter emitter, Blocks blocks, int x) {
    Assembler a = emitter.assembler();
    boolean isLoaded = false;
    for (int row = 0; row < blocks.rows(); row++) {
      if (!isInside(blocks.first() + row, x)) {
        continue;
      }
      if (!isLoaded) {
        sums.loadWeights(emitter, x);
        isLoaded = true;
      }
      for (int v = 0; v < sums.vectors(); v++) {
        Address at = Address.at(Gpr.RDI, width.cell(row, x) * cell + v * emitter.length().bytes());
        Vector sum = sums.sum(emitter, row, v);
        if (sums.isTail(emitter, v)) {
          emitter.loadTail(sums.seen(emitter), sums.tail(emitter), at);
          a.emit(Binary.VFMADD231PS, sum, sums.weight(emitter, v), sums.seen(emitter));
        } else {
          a.emit(Binary.VFMADD231PS, sum, sums.weight(emitter, v), at);
        }
      }
    }
  }
}
