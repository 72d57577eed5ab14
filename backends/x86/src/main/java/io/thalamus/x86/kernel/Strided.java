// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Elements of any type copied from one place to another: runs, by blocks of runs. The source's step
 * may be 0, or negative: then a run begins at its last element.
 *
 * @param size bytes of an element
 * @param count elements of a run
 * @param readStep bytes from one element to the next where it is read
 * @param writeStep where it is written
 * @param blockReadStep bytes from one run to the next where it is read
 * @param blockWriteStep where it is written
 */
public record Strided(
    int size, int count, int readStep, int writeStep, int blockReadStep, int blockWriteStep)
    implements FunctionSource {
  private static final int X = 0;

  /** Returns the function: o0 is the source, o1 the result; a block is a run. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    if (readStep < 0) {
      a.emit(Alu.SUB, Gpr.RDX, (count - 1) * readStep);
    }
    Label again = a.label();
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    if (writeStep == size && readStep == size) {
      dense(a, emitter.vector(X), size * count);
    } else if (writeStep == size && readStep == 0 && (size == 1 || size == Float.BYTES)) {
      fill(a, emitter.vector(X), size * count);
    } else {
      Loops.repeat(
          a,
          Gpr.RAX,
          count,
          () -> {
            copy(a, size);
            a.emit(Alu.ADD, Gpr.RDI, readStep);
            a.emit(Alu.ADD, Gpr.RSI, writeStep);
          });
    }
    a.emit(Alu.ADD, Gpr.RDX, blockReadStep);
    a.emit(Alu.ADD, Gpr.RCX, blockWriteStep);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(
        new Extent((count - 1L) * Math.abs(readStep) + size, blockReadStep),
        new Extent((count - 1L) * writeStep + size, blockWriteStep));
  }

  /** Copies bytes from rdi to rsi, and moves both; changes rax and r10. */
  static void dense(Assembler a, Vector x, int bytes) {
    int length = x.length().bytes();
    Loops.repeat(
        a,
        Gpr.RAX,
        bytes / length,
        () -> {
          a.load(Move.VMOVUPS, x, Address.at(Gpr.RDI, 0));
          a.store(Move.VMOVUPS, Address.at(Gpr.RSI, 0), x);
          a.emit(Alu.ADD, Gpr.RDI, length);
          a.emit(Alu.ADD, Gpr.RSI, length);
        });
    copy(a, bytes % length);
  }

  /** Copies fewer bytes than a vector has from rdi to rsi. */
  private static void copy(Assembler a, int bytes) {
    int at = 0;
    for (Length length : new Length[] {Length.YMM, Length.XMM}) {
      if (bytes - at >= length.bytes()) {
        Vector x = new Vector(length, X);
        a.load(Move.VMOVUPS, x, Address.at(Gpr.RDI, at));
        a.store(Move.VMOVUPS, Address.at(Gpr.RSI, at), x);
        at += length.bytes();
      }
    }
    if (bytes - at >= Long.BYTES) {
      a.load(Gpr.R10, Address.at(Gpr.RDI, at));
      a.store(Address.at(Gpr.RSI, at), Gpr.R10);
      at += Long.BYTES;
    }
    if (bytes - at >= Float.BYTES) {
      Vector x = new Vector(Length.XMM, X);
      a.vmovss(x, Address.at(Gpr.RDI, at));
      a.vmovss(Address.at(Gpr.RSI, at), x);
      at += Float.BYTES;
    }
    for (; at < bytes; at++) {
      a.loadByte(Gpr.R10, Address.at(Gpr.RDI, at));
      a.storeByte(Address.at(Gpr.RSI, at), Gpr.R10);
    }
  }

  /** Writes the element at rdi again and again. */
  private void fill(Assembler a, Vector x, int bytes) {
    a.emit(size == 1 ? Unary.VPBROADCASTB : Unary.VBROADCASTSS, x, Address.at(Gpr.RDI, 0));
    int length = x.length().bytes();
    Loops.repeat(
        a,
        Gpr.RAX,
        bytes / length,
        () -> {
          a.store(Move.VMOVUPS, Address.at(Gpr.RSI, 0), x);
          a.emit(Alu.ADD, Gpr.RSI, length);
        });
    int left = bytes % length;
    int at = 0;
    for (; left - at >= Length.XMM.bytes(); at += Length.XMM.bytes()) {
      a.store(Move.VMOVUPS, Address.at(Gpr.RSI, at), x.as(Length.XMM));
    }
    if (at < left) {
      Bytes.store(a, x.as(Length.XMM), Gpr.RSI, at, left - at);
    }
  }
}
