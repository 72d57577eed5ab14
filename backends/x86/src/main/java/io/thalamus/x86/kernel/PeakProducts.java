// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Vector;

/**
 * Products that depend on nothing but registers: as many as a processor can make.
 *
 * @param areBytes whether of 8-bit integers, else of floats
 */
public record PeakProducts(boolean areBytes) implements FunctionSource {
  /** Sums that do not wait for each other. */
  private static final int SUMS = 12;

  private static final int FIRST = SUMS;
  private static final int SECOND = SUMS + 1;
  private static final int WORDS = SUMS + 2;

  /** Returns the products of a block. */
  public static int products(Length length, boolean areBytes) {
    return SUMS * length.bytes() / (areBytes ? 1 : Float.BYTES);
  }

  /** Returns the function, which accesses nothing. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    for (int i = 0; i <= SECOND; i++) {
      a.emit(Binary.VXORPS, emitter.vector(i), emitter.vector(i), emitter.vector(i));
    }
    Label again = a.label();
    for (int i = 0; i < SUMS; i++) {
      product(emitter, a, i);
    }
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(Extent.NONE, Extent.NONE);
  }

  private void product(Emitter emitter, Assembler a, int sum) {
    Vector first = emitter.vector(FIRST);
    Vector second = emitter.vector(SECOND);
    if (!areBytes) {
      a.emit(Binary.VFMADD231PS, emitter.vector(sum), first, second);
    } else if (emitter.level().dot().isPresent()) {
      a.emit(emitter.level().dot().get(), emitter.vector(sum), first, second);
    } else {
      Vector words = emitter.vector(WORDS);
      a.emit(Binary.VPMADDUBSW, words, first, second);
      a.emit(Binary.VPMADDWD, words, words, second);
      a.emit(Binary.VPADDD, emitter.vector(sum), emitter.vector(sum), words);
    }
  }
}
