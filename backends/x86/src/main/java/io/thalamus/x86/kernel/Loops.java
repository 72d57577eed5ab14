// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import java.util.function.IntConsumer;

/** Loops whose trip counts are numbers in the code. Stateless. */
final class Loops {
  /** Steps of a loop that are written one behind the other. */
  private static final int UNROLLED = 4;

  /**
   * Bytes between what a load reads and what it reads the next time. Where they are 2 KB, Zen 5
   * calls for no lines ahead: 130 bytes a nanosecond come from the second cache in place of 190.
   */
  private static final int LONGEST_STEP = 1 << 10;

  private Loops() {}

  /**
   * Writes a body that runs some times, or nothing for none.
   *
   * @param counter that the body must not change
   */
  static void repeat(Assembler a, Gpr counter, int times, Runnable body) {
    if (times > 0) {
      a.mov(counter, times);
      Label again = a.label();
      body.run();
      a.countDown(counter, again);
    }
  }

  /**
   * Writes a loop over some at a time, and the rest behind it.
   *
   * @param body writes what is done with so many
   */
  static void unroll(Assembler a, Gpr counter, int count, int atOnce, IntConsumer body) {
    repeat(a, counter, count / atOnce, () -> body.accept(atOnce));
    body.accept(count % atOnce);
  }

  /**
   * Writes a loop over steps that read so many bytes each.
   *
   * @param body writes what is done in so many steps
   */
  static void steps(Assembler a, Gpr counter, int count, int bytes, IntConsumer body) {
    unroll(a, counter, count, Math.clamp(LONGEST_STEP / bytes, 1, UNROLLED), body);
  }

  /** The code for a vector, or for the rest of a row. */
  @FunctionalInterface
  interface Body {
    /** Writes the code. */
    void emit(boolean isTail);
  }

  /**
   * Writes a loop over the vectors of a row of floats, and the rest behind it. RAX counts.
   *
   * @param moved registers that point behind the last whole vector in the end
   */
  static void row(Emitter emitter, int count, Body body, Gpr... moved) {
    Assembler a = emitter.assembler();
    repeat(
        a,
        Gpr.RAX,
        count / emitter.lanes(),
        () -> {
          body.emit(false);
          for (Gpr pointer : moved) {
            a.emit(Alu.ADD, pointer, emitter.length().bytes());
          }
        });
    if (count % emitter.lanes() > 0) {
      body.emit(true);
    }
  }

  /**
   * Writes a loop that makes a run at RDX one at RCX, some elements at a time, and the rest behind
   * it. R9 counts.
   *
   * @param read bytes of an element at RDX
   * @param written bytes of an element at RCX
   * @param body writes what is done with so many, and changes none of these
   */
  static void convert(Assembler a, int count, int atOnce, int read, int written, IntConsumer body) {
    repeat(
        a,
        Gpr.R9,
        count / atOnce,
        () -> {
          body.accept(atOnce);
          a.emit(Alu.ADD, Gpr.RDX, atOnce * read);
          a.emit(Alu.ADD, Gpr.RCX, atOnce * written);
        });
    if (count % atOnce > 0) {
      body.accept(count % atOnce);
    }
  }

  /**
   * Moves a pointer over the cells of a window, line by line, and in the end below it.
   *
   * @param lines counts lines
   * @param cells counts the cells of a line
   * @param moved by how much the body moves the pointer itself
   */
  static void window(
      Assembler a,
      Gpr pointer,
      Gpr lines,
      int height,
      int heightStep,
      Gpr cells,
      int width,
      int widthStep,
      int moved,
      Runnable body) {
    repeat(
        a,
        lines,
        height,
        () -> {
          repeat(
              a,
              cells,
              width,
              () -> {
                body.run();
                advance(a, pointer, widthStep - moved);
              });
          advance(a, pointer, heightStep - width * widthStep);
        });
  }

  /** Moves a pointer by a number of bytes that is known. */
  static void advance(Assembler a, Gpr pointer, int bytes) {
    if (bytes != 0) {
      a.emit(Alu.ADD, pointer, bytes);
    }
  }

  /**
   * Writes loops over the blocks of a line of an area, behind whose results rdx and rcx move, and
   * in the end to the next line. RBX counts.
   *
   * @param block writes what is done with so many results
   */
  static void line(Assembler a, Area area, int resultStep, IntConsumer block) {
    IntConsumer moving =
        rows -> {
          block.accept(rows);
          a.emit(Alu.ADD, Gpr.RDX, rows * area.rowStep());
          a.emit(Alu.ADD, Gpr.RCX, rows * resultStep);
        };
    repeat(a, Gpr.RBX, area.whole(), () -> moving.accept(area.rows()));
    repeat(a, Gpr.RBX, area.less(), () -> moving.accept(area.rows() - 1));
    advance(a, Gpr.RDX, area.lineStep() - area.results() * area.rowStep());
    advance(a, Gpr.RCX, area.resultLineStep() - area.results() * resultStep);
  }

  /**
   * Writes a loop over r9 panels at r8, for each of which it writes one over an area. R12 and RBX
   * count.
   *
   * @param resultBytes of the channels of a panel
   * @param panelBytes of a panel, behind which the next one stands
   * @param block writes what is done with so many results for a panel
   */
  static void panels(
      Assembler a, Area area, int resultStep, int resultBytes, long panelBytes, IntConsumer block) {
    a.push(Gpr.RBX);
    a.push(Gpr.R12);
    Label again = a.label();
    repeat(a, Gpr.R12, area.lines(), () -> line(a, area, resultStep, block));
    advance(a, Gpr.RDX, -area.lines() * area.lineStep());
    advance(a, Gpr.RCX, resultBytes - area.lines() * area.resultLineStep());
    advance(a, Gpr.R8, Math.toIntExact(panelBytes));
    a.countDown(Gpr.R9, again);
    a.pop(Gpr.R12);
    a.pop(Gpr.RBX);
  }
}
