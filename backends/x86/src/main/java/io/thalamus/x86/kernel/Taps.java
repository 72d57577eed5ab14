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
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.Optional;
import java.util.Set;

/**
 * Sums of products over the taps of a filter, for a block of neighbouring results and some vectors
 * of channels at a time. It reads a panel: the bias, then the weights of each tap.
 *
 * @param isConstant whether the panel stands among the constants, else in memory
 * @param isAdded whether sums are added to what stands in the result, else to the bias
 * @param isDepthwise whether each channel sees itself alone; else each sees {@code run} floats
 * @param rows results of a block
 * @param vectors of channels
 * @param channels of the panel, in the last vector fewer than its floats
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param run floats of a tap that stand beside each other
 * @param rowStep bytes from what one result sees to what the next does
 * @param resultStep bytes from one result to the next
 * @param activation of results
 * @param function of {@link #FUNCTIONS} that results become; empty where there is an activation
 */
public record Taps(
    boolean isConstant,
    boolean isAdded,
    boolean isDepthwise,
    int rows,
    int vectors,
    int channels,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int run,
    int rowStep,
    int resultStep,
    FusedActivation activation,
    Optional<Kind> function)
    implements FunctionSource {
  /** Functions that need no more registers than are free in the end. */
  public static final Set<Kind> FUNCTIONS =
      Set.of(Kind.LOGISTIC, Kind.SWISH, Kind.TANH, Kind.HARD_SWISH);

  private static final int UNROLLED = 4;

  /** Bytes of weights that stay in the first cache beside what is seen. */
  private static final int MOST_KEPT = 1 << 14;

  /** Bytes of a line of a cache. */
  private static final int LINE = 64;

  /** Floats of a tap between what is multiplied and what is called for. */
  private static final int AHEAD = 16;

  /** Returns how many results a block can have at most. */
  public static int mostRows(Emitter emitter, int vectors) {
    // The sums, the weights of one tap, and two others.
    int registers = emitter.length().registers() - vectors - 2;
    return Math.max(1, registers / vectors);
  }

  /** Returns the function: o0 is the source, o1 the result, o2 the panel. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    int bytes = emitter.length().bytes();
    emitter.begin(isConstant);
    Label again = a.label();
    if ((isDepthwise || isAdded) && isPartial(emitter)) {
      emitter.setTail(tail(emitter), scratch(emitter, 1));
    }
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        if (!isAdded) {
          a.load(Move.VMOVUPS, sum(emitter, row, v), Address.at(Gpr.R8, v * bytes));
        } else {
          boolean isTail = v == vectors - 1 && isPartial(emitter);
          Vector sum = sum(emitter, row, v);
          emitter.load(isTail, sum, scratch(emitter, 1), result(row, v, bytes));
        }
      }
    }
    a.lea(Gpr.RAX, Address.at(Gpr.R8, vectors * bytes));
    a.mov(Gpr.RDI, Gpr.RDX);
    loops(emitter);
    store(emitter);
    a.emit(Alu.ADD, Gpr.RDX, rows * rowStep);
    a.emit(Alu.ADD, Gpr.RCX, rows * resultStep);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    long seen =
        (height - 1L) * heightStep
            + (width - 1L) * widthStep
            + (isDepthwise ? channels : run) * (long) Float.BYTES;
    long panel = (1 + (long) height * width * (isDepthwise ? 1 : run)) * vectors * bytes;
    return emitter.end(
        new Extent((rows - 1L) * rowStep + seen, (long) rows * rowStep),
        new Extent(
            (rows - 1L) * resultStep + (long) channels * Float.BYTES, (long) rows * resultStep),
        new Extent(panel, 0),
        isConstant);
  }

  /** Moves rdi over all taps, and rax over their weights. */
  private void loops(Emitter emitter) {
    Assembler a = emitter.assembler();
    int moved = isDepthwise ? 0 : run * Float.BYTES;
    Runnable tap =
        isDepthwise
            ? () -> depthwise(emitter)
            : () -> Loops.unroll(a, Gpr.R10, run, UNROLLED, count -> floats(emitter, count));
    Loops.window(a, Gpr.RDI, Gpr.R11, height, heightStep, Gpr.RSI, width, widthStep, moved, tap);
  }

  private void floats(Emitter emitter, int count) {
    Assembler a = emitter.assembler();
    for (int i = 0; i < count; i++) {
      loadWeights(emitter, i);
      prefetch(emitter, i);
      Vector seen = scratch(emitter, 0);
      for (int row = 0; row < rows; row++) {
        a.emit(Unary.VBROADCASTSS, seen, Address.at(Gpr.RDI, row * rowStep + i * Float.BYTES));
        for (int v = 0; v < vectors; v++) {
          a.emit(Binary.VFMADD231PS, sum(emitter, row, v), weight(emitter, v), seen);
        }
      }
    }
    if (count > 0) {
      a.emit(Alu.ADD, Gpr.RDI, count * Float.BYTES);
      a.emit(Alu.ADD, Gpr.RAX, count * vectors * emitter.length().bytes());
    }
  }

  /** Weights that the first cache does not keep from one block to the next are called for early. */
  private void prefetch(Emitter emitter, int tap) {
    int step = vectors * emitter.length().bytes();
    if ((long) height * width * run * step < MOST_KEPT) {
      return;
    }
    for (int at = tap * step; at < (tap + 1) * step; at += LINE / 2) {
      if (at % LINE == 0) {
        emitter.assembler().prefetcht0(Address.at(Gpr.RAX, at + AHEAD * step));
      }
    }
  }

  private void depthwise(Emitter emitter) {
    Assembler a = emitter.assembler();
    loadWeights(emitter, 0);
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        Address at = Address.at(Gpr.RDI, row * rowStep + v * emitter.length().bytes());
        if (v == vectors - 1 && isPartial(emitter)) {
          Vector seen = scratch(emitter, 0);
          emitter.loadTail(seen, scratch(emitter, 1), at);
          a.emit(Binary.VFMADD231PS, sum(emitter, row, v), weight(emitter, v), seen);
        } else {
          a.emit(Binary.VFMADD231PS, sum(emitter, row, v), weight(emitter, v), at);
        }
      }
    }
    a.emit(Alu.ADD, Gpr.RAX, vectors * emitter.length().bytes());
  }

  private void loadWeights(Emitter emitter, int tap) {
    for (int v = 0; v < vectors; v++) {
      emitter
          .assembler()
          .load(
              Move.VMOVUPS,
              weight(emitter, v),
              Address.at(Gpr.RAX, (tap * vectors + v) * emitter.length().bytes()));
    }
  }

  private void store(Emitter emitter) {
    Assembler a = emitter.assembler();
    if (isPartial(emitter)) {
      emitter.setTail(tail(emitter), scratch(emitter, 1));
    }
    // The weights are done with, and two registers where there is but one vector of them.
    Vector low = weight(emitter, 0);
    Vector high = scratch(emitter, 0);
    emitter.loadBounds(activation, low, high);
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        Vector sum = sum(emitter, row, v);
        emitter.clamp(activation, sum, low, high);
        function.ifPresent(kind -> Mapped.map(emitter, kind, 0, sum, low, high, 1));
        Address at = result(row, v, emitter.length().bytes());
        boolean isTail = v == vectors - 1 && isPartial(emitter);
        if (isTail && function.isPresent()) {
          emitter.setTail(tail(emitter), scratch(emitter, 1));
        }
        emitter.store(isTail, at, scratch(emitter, 1), sum);
      }
    }
  }

  private Address result(int row, int v, int bytes) {
    return Address.at(Gpr.RCX, row * resultStep + v * bytes);
  }

  private int tail(Emitter emitter) {
    return channels - (vectors - 1) * emitter.lanes();
  }

  private boolean isPartial(Emitter emitter) {
    return tail(emitter) < emitter.lanes();
  }

  private static Vector scratch(Emitter emitter, int number) {
    return emitter.vector(number);
  }

  private static Vector weight(Emitter emitter, int v) {
    return emitter.vector(2 + v);
  }

  private Vector sum(Emitter emitter, int row, int v) {
    return emitter.vector(2 + vectors + row * vectors + v);
  }
}
