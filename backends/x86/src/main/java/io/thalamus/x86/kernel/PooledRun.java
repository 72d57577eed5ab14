// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Vector;

/**
 * The combination of the cells of a window, for each channel; a block is one window. The cells are
 * combined in their order, for any length of vectors.
 *
 * @param kind of result
 * @param rows of the window
 * @param rowStep bytes from one to the next
 * @param cells of a row
 * @param cellStep bytes from one to the next
 * @param channels floats of a cell
 * @param windowStep bytes from one window to the next
 * @param resultStep bytes from one result to the next
 * @param activation of results
 */
public record PooledRun(
    Reducing kind,
    int rows,
    int rowStep,
    int cells,
    int cellStep,
    int channels,
    int windowStep,
    int resultStep,
    FusedActivation activation)
    implements FunctionSource {
  /** Vectors that are computed at once. */
  private static final int GROUP = 4;

  private static final int LOW = 0;
  private static final int HIGH = 1;
  private static final int MASK = 2;
  private static final int COUNT = 3;
  private static final int LOADED = 4;
  private static final int RESULT = 5;
  private static final int ZERO = RESULT + GROUP;
  private static final int SCRATCH = ZERO + 1;

  /** Returns the function: o0 is the first window, o1 the first result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    emitter.loadBounds(activation, emitter.vector(LOW), emitter.vector(HIGH));
    int tail = channels % emitter.lanes();
    emitter.setTail(tail, emitter.vector(MASK));
    if (kind == Reducing.MEAN) {
      a.load(Move.VMOVUPS, emitter.vector(COUNT), emitter.all((float) rows * cells));
    }
    Label again = a.label();
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    int vectors = channels / emitter.lanes();
    if (vectors >= GROUP) {
      a.mov(Gpr.R8, vectors / GROUP);
      Label next = a.label();
      group(emitter, GROUP, false);
      a.countDown(Gpr.R8, next);
    }
    if (vectors % GROUP > 0) {
      group(emitter, vectors % GROUP, false);
    }
    if (tail > 0) {
      group(emitter, 1, true);
    }
    long cell = (long) channels * Float.BYTES;
    long window = (rows - 1L) * rowStep + (cells - 1L) * cellStep + cell;
    return emitter.endBlocks(again, new Extent(window, windowStep), new Extent(cell, resultStep));
  }

  /** Some vectors of channels at rdi, whose results go to rsi; moves both on. */
  private void group(Emitter emitter, int vectors, boolean isTail) {
    Assembler a = emitter.assembler();
    for (int v = 0; v < vectors; v++) {
      a.load(Move.VMOVUPS, emitter.vector(RESULT + v), emitter.all(kind.start()));
    }
    Label nextRow = new Label();
    Label nextCell = new Label();
    a.mov(Gpr.R10, Gpr.RDI);
    a.mov(Gpr.R11, rows);
    a.bind(nextRow);
    a.mov(Gpr.RAX, cells);
    a.bind(nextCell);
    Vector loaded = emitter.vector(LOADED);
    for (int v = 0; v < vectors; v++) {
      Vector result = emitter.vector(RESULT + v);
      Address at = Address.at(Gpr.R10, v * emitter.length().bytes());
      if (!isTail && kind.single().isPresent()) {
        a.emit(kind.single().get(), result, result, at);
        continue;
      }
      emitter.load(isTail, loaded, emitter.vector(MASK), at);
      kind.combine(emitter, result, loaded, emitter.vector(ZERO), emitter.vector(SCRATCH));
    }
    a.emit(Alu.ADD, Gpr.R10, cellStep);
    a.countDown(Gpr.RAX, nextCell);
    a.emit(Alu.ADD, Gpr.R10, rowStep - cells * cellStep);
    a.countDown(Gpr.R11, nextRow);
    for (int v = 0; v < vectors; v++) {
      Vector result = emitter.vector(RESULT + v);
      if (kind == Reducing.MEAN) {
        a.emit(Binary.VDIVPS, result, result, emitter.vector(COUNT));
      }
      emitter.clamp(activation, result, emitter.vector(LOW), emitter.vector(HIGH));
      Address at = Address.at(Gpr.RSI, v * emitter.length().bytes());
      emitter.store(isTail, at, emitter.vector(MASK), result);
    }
    a.emit(Alu.ADD, Gpr.RDI, vectors * emitter.length().bytes());
    a.emit(Alu.ADD, Gpr.RSI, vectors * emitter.length().bytes());
  }
}
