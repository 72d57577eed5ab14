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
import io.thalamus.x86.asm.Vector;

/**
 * One float of each row; a block is a row.
 *
 * @param kind of result
 * @param count floats of a row
 */
public record ReducedRows(Reducing kind, int count) implements FunctionSource {
  /** Vectors of results, which hide the latency of one. */
  private static final int RESULTS = 4;

  private static final int LOADED = RESULTS;
  private static final int ZERO = LOADED + 1;
  private static final int SCRATCH = LOADED + 2;
  private static final int MASK = LOADED + 3;
  private static final int START = LOADED + 4;

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    int bytes = emitter.length().bytes();
    int vectors = count / emitter.lanes();
    int tail = count % emitter.lanes();
    if (tail > 0) {
      emitter.setTail(tail, emitter.vector(MASK));
      a.load(Move.VMOVUPS, emitter.vector(START), emitter.behind(tail, kind.start()));
    }
    Label again = a.label();
    int used = Math.clamp(vectors, 1, RESULTS);
    for (int i = 0; i < used; i++) {
      a.load(Move.VMOVUPS, emitter.vector(i), emitter.all(kind.start()));
    }
    Loops.unroll(
        a,
        Gpr.RAX,
        vectors,
        RESULTS,
        some -> {
          for (int i = 0; i < some; i++) {
            a.load(Move.VMOVUPS, emitter.vector(LOADED), Address.at(Gpr.RDX, i * bytes));
            combine(emitter, i, LOADED);
          }
          if (some > 0) {
            a.emit(Alu.ADD, Gpr.RDX, some * bytes);
          }
        });
    if (tail > 0) {
      Vector loaded = emitter.vector(LOADED);
      emitter.loadTail(loaded, emitter.vector(MASK), Address.at(Gpr.RDX, 0));
      a.emit(Binary.VORPS, loaded, loaded, emitter.vector(START));
      combine(emitter, used - 1, LOADED);
      a.emit(Alu.ADD, Gpr.RDX, tail * Float.BYTES);
    }
    for (int i = 1; i < used; i++) {
      combine(emitter, 0, i);
    }
    Vector result = emitter.vector(0);
    Across.emit(emitter, kind, result, emitter.vector(LOADED));
    if (kind == Reducing.MEAN) {
      a.emit(Binary.VDIVPS, result, result, emitter.all(count));
    }
    a.vmovss(Address.at(Gpr.RCX, 0), result.as(Length.XMM));
    a.emit(Alu.ADD, Gpr.RCX, Float.BYTES);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    long row = (long) count * Float.BYTES;
    return emitter.end(new Extent(row, row), new Extent(Float.BYTES, Float.BYTES));
  }

  private void combine(Emitter emitter, int result, int other) {
    kind.combine(
        emitter,
        emitter.vector(result),
        emitter.vector(other),
        emitter.vector(ZERO),
        emitter.vector(SCRATCH));
  }
}
