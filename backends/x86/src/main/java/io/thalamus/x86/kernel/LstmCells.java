// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.kernel.Mapped.Kind;

/**
 * The cells of an LSTM over the sums of their gates; a block is a row of cells. The gates stand one
 * after the other: input (unless it is coupled), forget, cell and output. States of the cells are a
 * row of the result, with their outputs behind them; states of another row are read.
 *
 * @param part of the cells: the last gate may wait for the new states
 * @param cells of a row
 * @param isCoupled whether the input gate is what the forget gate leaves
 * @param activation of cells' inputs and outputs
 * @param clip limit of states, 0 for none
 * @param gatesStep bytes from one row of gates to the next
 * @param statesStep bytes from one row of states that are read to the next
 * @param resultStep bytes from one row of results to the next
 */
public record LstmCells(
    Part part,
    int cells,
    boolean isCoupled,
    CellFunction activation,
    float clip,
    int gatesStep,
    int statesStep,
    int resultStep)
    implements FunctionSource {
  /** The functions that make up a step of the cells. */
  public enum Part {
    /** New states, and outputs behind them. */
    WHOLE,
    /** New states alone. */
    STATES,
    /** Outputs alone, of the output gate alone and of states that are new already. */
    OUTPUTS
  }

  private static final int X = 0;
  private static final int S = 1;
  private static final int T = 2;
  private static final int MASK = 3;
  private static final int FORGET = 4;
  private static final int STATE = 5;
  private static final int ADMITTED = 6;
  private static final int SCRATCH = 7;

  /** Returns the floats of a row of gates that are read. */
  private int gates() {
    return switch (part) {
      case WHOLE -> (isCoupled ? 3 : 4) * cells;
      case STATES -> (isCoupled ? 2 : 3) * cells;
      case OUTPUTS -> cells;
    };
  }

  /**
   * Returns the function: o0 is the gates, o1 the new states, or the outputs alone, o2 the states
   * that are read, in memory.
   */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    int bytes = emitter.length().bytes();
    int vectors = cells / emitter.lanes();
    emitter.setTail(cells % emitter.lanes(), emitter.vector(MASK));
    Label again = a.label();
    Loops.row(emitter, cells, isTail -> some(emitter, isTail), Gpr.RDX, Gpr.RCX, Gpr.R8);
    a.emit(Alu.ADD, Gpr.RDX, gatesStep - vectors * bytes);
    a.emit(Alu.ADD, Gpr.RCX, resultStep - vectors * bytes);
    a.emit(Alu.ADD, Gpr.R8, statesStep - vectors * bytes);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    long row = (long) cells * Float.BYTES;
    return emitter.end(
        new Extent((long) gates() * Float.BYTES, gatesStep),
        new Extent(part == Part.WHOLE ? 2 * row : row, resultStep),
        new Extent(row, statesStep),
        false);
  }

  private void some(Emitter emitter, boolean isTail) {
    load(emitter, emitter.vector(STATE), Gpr.R8, 0, isTail);
    if (part != Part.OUTPUTS) {
      states(emitter, isTail);
      store(emitter, 0, emitter.vector(STATE), isTail);
    }
    if (part != Part.STATES) {
      outputs(emitter, isTail);
    }
  }

  /** Makes the old states new ones, where they are. */
  private void states(Emitter emitter, boolean isTail) {
    Assembler a = emitter.assembler();
    Vector x = emitter.vector(X);
    Vector forget = emitter.vector(FORGET);
    Vector state = emitter.vector(STATE);
    Vector admitted = emitter.vector(ADMITTED);
    int first = isCoupled ? -1 : 0;
    gate(emitter, first + 1, isTail);
    a.emit(Move.VMOVUPS, forget, x);
    if (isCoupled) {
      a.load(Move.VMOVUPS, admitted, emitter.all(1));
      a.emit(Binary.VSUBPS, admitted, admitted, forget);
    } else {
      gate(emitter, 0, isTail);
      a.emit(Move.VMOVUPS, admitted, x);
    }
    a.emit(Binary.VMULPS, state, state, forget);
    load(emitter, x, Gpr.RDX, first + 2, isTail);
    activate(emitter, x);
    a.emit(Binary.VFMADD231PS, state, x, admitted);
    if (clip > 0) {
      a.load(Move.VMOVUPS, x, emitter.all(-clip));
      a.emit(Binary.VMAXPS, state, x, state);
      a.load(Move.VMOVUPS, x, emitter.all(clip));
      a.emit(Binary.VMINPS, state, x, state);
    }
  }

  private void outputs(Emitter emitter, boolean isTail) {
    Assembler a = emitter.assembler();
    Vector x = emitter.vector(X);
    Vector shown = emitter.vector(ADMITTED);
    boolean isAlone = part == Part.OUTPUTS;
    gate(emitter, isAlone ? 0 : isCoupled ? 2 : 3, isTail);
    a.emit(Move.VMOVUPS, shown, x);
    a.emit(Move.VMOVUPS, x, emitter.vector(STATE));
    activate(emitter, x);
    a.emit(Binary.VMULPS, x, x, shown);
    store(emitter, isAlone ? 0 : 1, x, isTail);
  }

  private void gate(Emitter emitter, int gate, boolean isTail) {
    load(emitter, emitter.vector(X), Gpr.RDX, gate, isTail);
    map(emitter, Kind.LOGISTIC, emitter.vector(X));
  }

  private void activate(Emitter emitter, Vector x) {
    activation.emit(emitter, x, emitter.vector(S), emitter.vector(T), SCRATCH);
  }

  private static void map(Emitter emitter, Kind kind, Vector x) {
    Mapped.map(emitter, kind, 0, x, emitter.vector(S), emitter.vector(T), SCRATCH);
  }

  /** Loads cells of one of the parts of a row. */
  private void load(Emitter emitter, Vector to, Gpr from, int part, boolean isTail) {
    Address at = Address.at(from, part * cells * Float.BYTES);
    emitter.load(isTail, to, emitter.vector(MASK), at);
  }

  private void store(Emitter emitter, int part, Vector from, boolean isTail) {
    Address at = Address.at(Gpr.RCX, part * cells * Float.BYTES);
    emitter.store(isTail, at, emitter.vector(MASK), from);
  }
}
