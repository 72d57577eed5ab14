// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.Arrays;
import java.util.Optional;

/**
 * Exact sums of products of integers over the taps of a filter, stored as bytes or as they are, of
 * an area of results, panel by panel. Elements that stand beside each other are multiplied in
 * groups of 32 bits; what the last group of a run has too many meets weights of 0. A panel is the
 * numbers of {@link Rescale}, or alone what sums begin with, then for each group the weights of all
 * its channels. The next panel stands behind it, and its results beside those of the one before.
 *
 * @param isConstant whether the panel stands among the constants, else in memory
 * @param length of vectors
 * @param form of elements and weights
 * @param isFlipped whether bytes are signed, and made unsigned by adding 128
 * @param correction times the sum of the unsigned bytes that a result sees is added to each of its
 *     sums: what all weights have been made less by, to be signed bytes; 0 but for {@link
 *     Form#BYTES}
 * @param vectors of channels, an even number, or with AVX-512 one
 * @param channels of the panel
 * @param height taps below each other
 * @param heightStep bytes from one to the next
 * @param width taps beside each other
 * @param widthStep bytes from one to the next
 * @param run elements of a tap that stand beside each other
 * @param resultStep bytes from one result to the next
 * @param rescale from sums to bytes; empty where sums of 32 bits are the results
 */
public record StoredProduct(
    boolean isConstant,
    Length length,
    Form form,
    boolean isFlipped,
    int correction,
    Area area,
    int vectors,
    int channels,
    int height,
    int heightStep,
    int width,
    int widthStep,
    int run,
    int resultStep,
    Optional<Rescale> rescale)
    implements FunctionSource {
  /** The elements and the instructions that multiply them. */
  public enum Form {
    /** Words less their zero points, by vpmaddwd. */
    WORDS(2),
    /** Bytes, by vpmaddubsw: no sum of two products may leave 16 bits, whatever is seen. */
    PAIRS(4),
    /** Bytes, by {@link Level#dot}. */
    BYTES(4);

    private final int group;

    Form(int group) {
      this.group = group;
    }

    /** Returns the elements of a group. */
    public int group() {
      return group;
    }

    /** Returns the bytes of an element. */
    public int bytes() {
      return Integer.BYTES / group;
    }
  }

  private static final int SEEN = 0;
  private static final int PRODUCT = 1;
  private static final int WEIGHTS = 2;

  /** Returns how many arrays of numbers a panel begins with, each as long as the sums are. */
  public static int arrays(Optional<Rescale> rescale) {
    return rescale.map(Rescale::arrays).orElse(1);
  }

  /** Returns how many neighbours can be computed together at most. */
  public static int mostRows(
      Length length, Form form, boolean isFlipped, boolean isCorrected, int vectors) {
    int constants = (isFlipped ? 1 : 0) + (isCorrected || form == Form.PAIRS ? 1 : 0);
    int left = length.registers() - WEIGHTS - vectors - constants;
    return Math.max(1, left / (vectors + (isCorrected ? 1 : 0)));
  }

  /** Returns the function: o0 is the source, o1 the result, o2 the panel, which is a block. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(isConstant);
    rescale.ifPresent(them -> them.prepare(emitter, length, channels % Rescale.pair(length)));
    if (isFlipped) {
      a.emit(Unary.VBROADCASTSS, flip(), Address.at(a.constant(0x80808080)));
    }
    if (hasOnes()) {
      int ones = form == Form.PAIRS ? 0x00010001 : 0x01010101;
      a.emit(Unary.VBROADCASTSS, ones(), Address.at(a.constant(ones)));
    }
    long seen =
        (height - 1L) * heightStep + (width - 1L) * widthStep + (long) groups() * Integer.BYTES;
    long panel = (arrays(rescale) + (long) height * width * groups()) * vectors * length.bytes();
    int stored = rescale.isPresent() ? channels : channels * Integer.BYTES;
    Loops.panels(a, area, resultStep, stored, panel, some -> part(emitter, some));
    a.vzeroupper();
    return emitter.end(
        new Extent(area.seen() + seen, 0),
        new Extent(area.written(resultStep) + stored, stored),
        new Extent(panel, panel),
        isConstant);
  }

  private void part(Emitter emitter, int some) {
    Assembler a = emitter.assembler();
    for (int row = 0; row < some; row++) {
      for (int v = 0; v < vectors; v++) {
        a.load(Move.VMOVUPS, sum(row, v), Address.at(Gpr.R8, v * length.bytes()));
      }
      if (correction != 0) {
        a.emit(Binary.VXORPS, seenSum(row), seenSum(row), seenSum(row));
      }
    }
    a.lea(Gpr.RAX, Address.at(Gpr.R8, arrays(rescale) * vectors * length.bytes()));
    a.mov(Gpr.RDI, Gpr.RDX);
    loops(emitter, some);
    for (int row = 0; row < some; row++) {
      if (correction != 0) {
        Vector seenSum = seenSum(row);
        a.emit(Unary.VBROADCASTSS, vector(SEEN), Address.at(a.constant(correction)));
        a.emit(Binary.VPMULLD, seenSum, seenSum, vector(SEEN));
        for (int v = 0; v < vectors; v++) {
          a.emit(Binary.VPADDD, sum(row, v), sum(row, v), seenSum);
        }
      }
    }
    // Nothing multiplies any more: the first registers are free.
    if (rescale.isPresent()) {
      storeBytes(emitter, rescale.get(), some);
    } else {
      storeSums(emitter, some);
    }
  }

  private void storeBytes(Emitter emitter, Rescale rescale, int some) {
    Rescale.Place place = rescale.in(emitter, Gpr.R8, length, vectors);
    for (int row = 0; row < some; row++) {
      for (int v = 0; v < vectors; v++) {
        rescale.round(emitter, place, v, sum(row, v), vector(SEEN), vector(PRODUCT));
      }
      if (vectors == 1) {
        rescale.storeSingle(emitter, sum(row, 0), Gpr.RCX, row * resultStep);
        continue;
      }
      for (int v = 0; v < vectors; v += 2) {
        int first = v / 2 * Rescale.pair(length);
        rescale.store(
            emitter,
            sum(row, v),
            sum(row, v + 1),
            Gpr.RCX,
            row * resultStep + first,
            Math.min(channels - first, Rescale.pair(length)));
      }
    }
  }

  private void storeSums(Emitter emitter, int some) {
    int lanes = length.bytes() / Integer.BYTES;
    int whole = channels / lanes;
    emitter.setTail(channels % lanes, vector(SEEN));
    for (int row = 0; row < some; row++) {
      for (int v = 0; v < Math.ceilDiv(channels, lanes); v++) {
        Address to = Address.at(Gpr.RCX, row * resultStep + v * length.bytes());
        emitter.store(v == whole, to, vector(SEEN), sum(row, v));
      }
    }
  }

  /** Moves rdi over all taps, and rax over their weights. */
  private void loops(Emitter emitter, int some) {
    Assembler a = emitter.assembler();
    int whole = run / form.group();
    int moved = groups() * Integer.BYTES;
    int step = vectors * length.bytes();
    Runnable tap =
        () -> {
          Loops.steps(a, Gpr.R10, whole, step, count -> groups(emitter, some, count, false));
          groups(emitter, some, groups() - whole, true);
        };
    Loops.window(a, Gpr.RDI, Gpr.R11, height, heightStep, Gpr.RSI, width, widthStep, moved, tap);
  }

  private void groups(Emitter emitter, int some, int count, boolean isPartial) {
    Assembler a = emitter.assembler();
    for (int i = 0; i < count; i++) {
      for (int v = 0; v < vectors; v++) {
        Address weights = Address.at(Gpr.RAX, (i * vectors + v) * length.bytes());
        a.load(Move.VMOVUPS, vector(WEIGHTS + v), weights);
      }
      for (int row = 0; row < some; row++) {
        Address at = Address.at(Gpr.RDI, row * area.rowStep() + i * Integer.BYTES);
        a.emit(Unary.VPBROADCASTD, vector(SEEN), at);
        multiply(emitter, row, isPartial);
      }
    }
    if (count > 0) {
      a.emit(Alu.ADD, Gpr.RDI, count * Integer.BYTES);
      a.emit(Alu.ADD, Gpr.RAX, count * vectors * length.bytes());
    }
  }

  private void multiply(Emitter emitter, int row, boolean isPartial) {
    Assembler a = emitter.assembler();
    Vector seen = vector(SEEN);
    if (isFlipped) {
      a.emit(Binary.VXORPS, seen, seen, flip());
    }
    if (form != Form.BYTES) {
      Vector product = vector(PRODUCT);
      for (int v = 0; v < vectors; v++) {
        if (form == Form.PAIRS) {
          a.emit(Binary.VPMADDUBSW, product, seen, vector(WEIGHTS + v));
          a.emit(Binary.VPMADDWD, product, product, ones());
        } else {
          a.emit(Binary.VPMADDWD, product, seen, vector(WEIGHTS + v));
        }
        a.emit(Binary.VPADDD, sum(row, v), sum(row, v), product);
      }
      return;
    }
    Binary dot = emitter.level().dot().orElseThrow();
    for (int v = 0; v < vectors; v++) {
      a.emit(dot, sum(row, v), seen, vector(WEIGHTS + v));
    }
    if (correction != 0) {
      if (isPartial) {
        int[] ones = new int[length.bytes() / Integer.BYTES];
        Arrays.fill(ones, 0x01010101 >>> Byte.SIZE * (form.group() - run % form.group()));
        a.emit(dot, seenSum(row), seen, Address.at(a.constant(ones)));
      } else {
        a.emit(dot, seenSum(row), seen, ones());
      }
    }
  }

  private int groups() {
    return Math.ceilDiv(run, form.group());
  }

  private Vector vector(int number) {
    return new Vector(length, number);
  }

  private Vector flip() {
    return vector(WEIGHTS + vectors);
  }

  private boolean hasOnes() {
    return form == Form.PAIRS || correction != 0;
  }

  private Vector ones() {
    return vector(WEIGHTS + vectors + (isFlipped ? 1 : 0));
  }

  private int firstSum() {
    return ones().number() + (hasOnes() ? 1 : 0);
  }

  private Vector seenSum(int row) {
    return vector(firstSum() + area.rows() * vectors + row);
  }

  private Vector sum(int row, int v) {
    return vector(firstSum() + row * vectors + v);
  }
}
