// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Sums of products over the taps of a filter, of an area of results, panel by panel, as {@link
 * Sums} has them. The next panel stands behind one, and its results beside those of the one before.
 *
 * @param isConstant whether the panels stand among the constants, else in memory
 * @param sums where results go
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param run floats of a tap that stand beside each other
 * @param parts of each sum, 1, 2 or 4: of every tap, or of every second or fourth one
 */
public record Taps(
    boolean isConstant,
    Sums sums,
    Area area,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int run,
    int parts)
    implements FunctionSource {
  /** Bytes of weights that stay in the first cache beside what is seen. */
  private static final int MOST_KEPT = 1 << 14;

  /** The same of the second cache, where a block has few results. */
  private static final int MOST_KEPT_OF_FEW = 1 << 19;

  /** Bytes of a line of a cache. */
  private static final int LINE = 64;

  /** Floats of a tap between what is multiplied and what is called for. */
  private static final int AHEAD = 16;

  /** Results of a block that are so few that memory bounds the time, not what is multiplied. */
  private static final int FEW_ROWS = 2;

  /** Bytes instead of these floats then: as many as memory has to be asked for at a time. */
  private static final int BYTES_AHEAD = 12 << 10;

  /** Returns the function: o0 is the source, o1 the result, o2 the panel, which is a block. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    emitter.begin(isConstant);
    Extent panel = sums.panel(emitter, (long) height * width * run);
    Loops.panels(a, area, sums.step(), sums.bytes(), panel.next(), rows -> block(emitter, rows));
    a.vzeroupper();
    long tap = (height - 1L) * heightStep + (width - 1L) * widthStep + run * (long) Float.BYTES;
    return emitter.end(new Extent(area.seen() + tap, 0), sums.written(area), panel, isConstant);
  }

  private void block(Emitter emitter, int rows) {
    Assembler a = emitter.assembler();
    sums.begin(emitter, rows);
    sums.clear(emitter, rows, parts * rows);
    a.lea(Gpr.RAX, Address.at(Gpr.R8, sums.head(emitter)));
    a.mov(Gpr.RDI, Gpr.RDX);
    Loops.window(
        a,
        Gpr.RDI,
        Gpr.R11,
        height,
        heightStep,
        Gpr.RSI,
        width,
        widthStep,
        run * Float.BYTES,
        () ->
            Loops.steps(
                a, Gpr.R10, run, sums.weights(emitter), count -> floats(emitter, rows, count)));
    for (int half = parts / 2; half > 0; half /= 2) {
      sums.add(emitter, half * rows);
    }
    sums.store(emitter, rows);
  }

  private void floats(Emitter emitter, int rows, int count) {
    Assembler a = emitter.assembler();
    for (int i = 0; i < count; i++) {
      sums.loadWeights(emitter, i);
      prefetch(emitter, rows, i);
      Vector seen = sums.seen(emitter);
      for (int row = 0; row < rows; row++) {
        a.emit(
            Unary.VBROADCASTSS, seen, Address.at(Gpr.RDI, row * area.rowStep() + i * Float.BYTES));
        for (int v = 0; v < sums.vectors(); v++) {
          Vector sum = sums.sum(emitter, i % parts * rows + row, v);
          a.emit(Binary.VFMADD231PS, sum, sums.weight(emitter, v), seen);
        }
      }
    }
    if (count > 0) {
      a.emit(Alu.ADD, Gpr.RDI, count * Float.BYTES);
      a.emit(Alu.ADD, Gpr.RAX, count * sums.weights(emitter));
    }
  }

  /** Weights that the first cache does not keep from one block to the next are called for early. */
  private void prefetch(Emitter emitter, int rows, int tap) {
    int step = sums.weights(emitter);
    boolean isFew = rows <= FEW_ROWS;
    if ((long) height * width * run * step < (isFew ? MOST_KEPT_OF_FEW : MOST_KEPT)) {
      return;
    }
    int ahead = isFew ? BYTES_AHEAD : AHEAD * step;
    for (int at = tap * step; at < (tap + 1) * step; at += LINE / 2) {
      if (at % LINE == 0) {
        emitter.assembler().prefetcht0(Address.at(Gpr.RAX, at + ahead));
      }
    }
  }
}
