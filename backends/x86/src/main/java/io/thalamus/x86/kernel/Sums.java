// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.Set;

/**
 * Sums of products in registers: of a block of neighbouring results at rcx, and of some vectors of
 * channels. A panel has their bias, then the weights of each tap; or, where weights are bytes, the
 * bias and the factor of each channel, then the bytes.
 *
 * @param finish what they become
 * @param vectors of channels
 * @param channels in the last vector fewer than its floats
 * @param step bytes from one result to the next
 * @param areBytes whether weights are bytes, which the factor of their channel makes floats
 */
public record Sums(Finish finish, int vectors, int channels, int step, boolean areBytes) {
  /** Sums of products with weights that are floats. */
  public Sums(Finish finish, int vectors, int channels, int step) {
    this(finish, vectors, channels, step, false);
  }

  /** Functions that need no more registers than are free in the end. */
  public static final Set<Kind> FUNCTIONS =
      Set.of(Kind.LOGISTIC, Kind.SWISH, Kind.TANH, Kind.HARD_SWISH);

  /** Returns how many results a block can have at most. */
  public static int mostRows(Emitter emitter, int vectors) {
    // The sums, the weights of one tap, and two others.
    int registers = emitter.length().registers() - vectors - 2;
    return Math.max(1, registers / vectors);
  }

  /** Sets the sums of a block to the bias at r8; to 0 where factors come first. */
  void begin(Emitter emitter, int rows) {
    if (areBytes) {
      clear(emitter, 0, rows);
      return;
    }
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        emitter.assembler().load(Move.VMOVUPS, sum(emitter, row, v), bias(emitter, v));
      }
    }
  }

  /** Sets the sums of some rows to 0. */
  void clear(Emitter emitter, int first, int end) {
    for (int row = first; row < end; row++) {
      for (int v = 0; v < vectors; v++) {
        Vector sum = sum(emitter, row, v);
        emitter.assembler().emit(Binary.VXORPS, sum, sum, sum);
      }
    }
  }

  /** Adds to the sums of the first rows those of as many rows behind them. */
  void add(Emitter emitter, int rows) {
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        Vector sum = sum(emitter, row, v);
        emitter.assembler().emit(Binary.VADDPS, sum, sum, sum(emitter, rows + row, v));
      }
    }
  }

  private static Address bias(Emitter emitter, int v) {
    return Address.at(Gpr.R8, v * emitter.length().bytes());
  }

  /** Returns the bytes of a panel before its weights. */
  int head(Emitter emitter) {
    return (areBytes ? 2 : 1) * vectors * emitter.length().bytes();
  }

  /** Returns the bytes of the weights of a tap. */
  int weights(Emitter emitter) {
    return vectors * (areBytes ? emitter.lanes() : emitter.length().bytes());
  }

  /**
   * Loads the weights of a tap.
   *
   * @param number of the tap, from the one at rax on
   */
  void loadWeights(Emitter emitter, int number) {
    Assembler a = emitter.assembler();
    for (int v = 0; v < vectors; v++) {
      Vector weight = weight(emitter, v);
      Address at =
          Address.at(Gpr.RAX, number * weights(emitter) + v * (weights(emitter) / vectors));
      if (areBytes) {
        a.emit(Unary.VPMOVSXBD, weight, at);
        a.emit(Unary.VCVTDQ2PS, weight, weight);
      } else {
        a.load(Move.VMOVUPS, weight, at);
      }
    }
  }

  /** Stores what the sums of a block become; all other registers of vectors are changed. */
  void store(Emitter emitter, int rows) {
    setTail(emitter);
    if (areBytes) {
      multiply(emitter, rows);
    }
    if (finish.isAdded()) {
      addResults(emitter, rows);
    }
    // The weights are done with, and two registers where there is but one vector of them.
    Vector low = weight(emitter, 0);
    Vector high = seen(emitter);
    FusedActivation activation = finish.activation();
    emitter.loadBounds(activation, low, high);
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        Vector sum = sum(emitter, row, v);
        emitter.clamp(activation, sum, low, high);
        finish.function().ifPresent(kind -> Mapped.map(emitter, kind, 0, sum, low, high, 1));
        boolean isTail = isTail(emitter, v);
        if (isTail && finish.function().isPresent()) {
          setTail(emitter);
        }
        emitter.store(isTail, result(emitter, row, v), tail(emitter), sum);
      }
    }
  }

  /** Makes sums of products with bytes those with weights, and adds the bias. */
  private void multiply(Emitter emitter, int rows) {
    Assembler a = emitter.assembler();
    for (int v = 0; v < vectors; v++) {
      Vector factor = weight(emitter, v);
      Address at = Address.at(Gpr.R8, (vectors + v) * emitter.length().bytes());
      a.load(Move.VMOVUPS, factor, at);
      for (int row = 0; row < rows; row++) {
        // What is multiplied is done with.
        Vector all = seen(emitter);
        a.load(Move.VMOVUPS, all, bias(emitter, v));
        a.emit(Binary.VFMADD231PS, all, sum(emitter, row, v), factor);
        a.emit(Move.VMOVUPS, sum(emitter, row, v), all);
      }
    }
  }

  private void addResults(Emitter emitter, int rows) {
    for (int row = 0; row < rows; row++) {
      for (int v = 0; v < vectors; v++) {
        Vector sum = sum(emitter, row, v);
        // What is multiplied is done with.
        emitter.load(isTail(emitter, v), seen(emitter), tail(emitter), result(emitter, row, v));
        emitter.assembler().emit(Binary.VADDPS, sum, sum, seen(emitter));
      }
    }
  }

  /** Returns the bytes of the channels of a result. */
  int bytes() {
    return channels * Float.BYTES;
  }

  /** Returns what is written for a panel, and behind that for the next one. */
  Extent written(Area area) {
    return new Extent(area.written(step) + bytes(), bytes());
  }

  /** Returns what is read of a panel with so many taps, behind which the next one stands. */
  Extent panel(Emitter emitter, long taps) {
    long bytes = head(emitter) + taps * weights(emitter);
    return new Extent(bytes, bytes);
  }

  private Address result(Emitter emitter, int row, int v) {
    return Address.at(Gpr.RCX, row * step + v * emitter.length().bytes());
  }

  /** Sets the mask of the last vector if it has fewer floats; changes rax. */
  void setTail(Emitter emitter) {
    int floats = channels - (vectors - 1) * emitter.lanes();
    if (floats < emitter.lanes()) {
      emitter.setTail(floats, tail(emitter));
    }
  }

  boolean isTail(Emitter emitter, int v) {
    return v == vectors - 1 && channels < vectors * emitter.lanes();
  }

  /** Returns the register of what is multiplied. */
  Vector seen(Emitter emitter) {
    return emitter.vector(0);
  }

  /** Returns the register of the mask of the last vector. */
  Vector tail(Emitter emitter) {
    return emitter.vector(1);
  }

  Vector weight(Emitter emitter, int v) {
    return emitter.vector(2 + v);
  }

  Vector sum(Emitter emitter, int row, int v) {
    return emitter.vector(2 + vectors + row * vectors + v);
  }
}
