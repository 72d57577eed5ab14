// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Exact sums of products of stored bytes over the taps of a filter, each channel for itself, stored
 * as bytes, for lines of results. Two taps are interleaved as words and multiplied at once. The
 * constants are a panel for each pair of vectors: the numbers of {@link Rescale}, then the weights
 * of each two taps. The surplus of a last pair is read, and not written.
 *
 * @param length of vectors
 * @param isSigned whether the source is
 * @param line an area of one line
 * @param pairs of vectors of channels
 * @param channels of all pairs
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param resultStep bytes from one result to the next
 * @param rescale from sums to results
 */
public record StoredDepthwise(
    Length length,
    boolean isSigned,
    Area line,
    int pairs,
    int channels,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int resultStep,
    Rescale rescale)
    implements FunctionSource {
  private static final int FIRST = 0;
  private static final int SECOND = 1;
  private static final int PRODUCT = 2;
  private static final int WEIGHTS = 3;
  private static final int SUMS = 5;

  /** Returns how many results a block can have at most. */
  public static int mostRows(Length length) {
    return Math.min(8, (length.registers() - SUMS) / 2);
  }

  /** Returns the bytes of the panel of a pair. */
  public static long panel(Length length, int taps, Rescale rescale) {
    return (rescale.arrays() + Math.ceilDiv(taps, 2)) * 2L * length.bytes();
  }

  /** Returns the function: o0 is the source, o1 the result, o2 the panels; a block is a line. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    int pair = Rescale.pair(length);
    long panel = panel(length, height * width, rescale);
    emitter.begin(true);
    rescale.prepare(emitter, length, channels % pair);
    a.push(Gpr.RBX);
    Label again = a.label();
    Loops.line(a, line, resultStep, rows -> block(emitter, rows));
    a.countDown(Gpr.R9, again);
    a.pop(Gpr.RBX);
    a.vzeroupper();
    long seen = (height - 1L) * heightStep + (width - 1L) * widthStep + (long) pairs * pair;
    return emitter.end(
        new Extent(line.seen() + seen, line.lineStep()),
        new Extent(line.written(resultStep) + channels, line.resultLineStep()),
        new Extent(pairs * panel, 0),
        true);
  }

  private void block(Emitter emitter, int rows) {
    Assembler a = emitter.assembler();
    int pair = Rescale.pair(length);
    a.mov(Gpr.R10, Gpr.RDX);
    a.mov(Gpr.R11, Gpr.RCX);
    a.mov(Gpr.RAX, Gpr.R8);
    Loops.repeat(
        a,
        Gpr.RSI,
        channels / pair,
        () -> {
          one(emitter, rows, pair);
          a.emit(Alu.ADD, Gpr.R10, pair);
          a.emit(Alu.ADD, Gpr.R11, pair);
          a.emit(Alu.ADD, Gpr.RAX, (int) panel(length, height * width, rescale));
        });
    if (channels % pair > 0) {
      one(emitter, rows, channels % pair);
    }
  }

  private void one(Emitter emitter, int rows, int stored) {
    Assembler a = emitter.assembler();
    Rescale.Place place = rescale.in(emitter, Gpr.RAX, length, 2);
    for (int row = 0; row < rows; row++) {
      for (int half = 0; half < 2; half++) {
        a.load(Move.VMOVUPS, sum(row, half), place.of(Rescale.Numbers.BIAS, half));
      }
    }
    int taps = height * width;
    int weights = rescale.arrays() * 2 * length.bytes();
    for (int tap = 0; tap < taps; tap += 2) {
      for (int half = 0; half < 2; half++) {
        a.load(
            Move.VMOVUPS,
            vector(WEIGHTS + half),
            Address.at(Gpr.RAX, weights + (tap + half) * length.bytes()));
      }
      for (int row = 0; row < rows; row++) {
        load(a, FIRST, row, tap);
        // The weights of a tap that is not there are 0.
        load(a, SECOND, row, Math.min(tap + 1, taps - 1));
        a.emit(Binary.VPUNPCKLWD, vector(PRODUCT), vector(FIRST), vector(SECOND));
        a.emit(Binary.VPUNPCKHWD, vector(FIRST), vector(FIRST), vector(SECOND));
        a.emit(Binary.VPMADDWD, vector(PRODUCT), vector(PRODUCT), vector(WEIGHTS));
        a.emit(Binary.VPADDD, sum(row, 0), sum(row, 0), vector(PRODUCT));
        a.emit(Binary.VPMADDWD, vector(FIRST), vector(FIRST), vector(WEIGHTS + 1));
        a.emit(Binary.VPADDD, sum(row, 1), sum(row, 1), vector(FIRST));
      }
    }
    for (int row = 0; row < rows; row++) {
      for (int half = 0; half < 2; half++) {
        rescale.round(emitter, place, half, sum(row, half), vector(FIRST), vector(SECOND));
      }
      rescale.store(emitter, sum(row, 0), sum(row, 1), Gpr.R11, row * resultStep, stored);
    }
  }

  private void load(Assembler a, int register, int row, int tap) {
    int at = row * line.rowStep() + tap / width * heightStep + tap % width * widthStep;
    Unary widen = isSigned ? Unary.VPMOVSXBW : Unary.VPMOVZXBW;
    a.emit(widen, vector(register), Address.at(Gpr.R10, at));
  }

  private Vector vector(int number) {
    return new Vector(length, number);
  }

  private Vector sum(int row, int half) {
    return vector(SUMS + row * 2 + half);
  }
}
