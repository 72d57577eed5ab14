// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.asm.Mask;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The functions of one program, each emitted once, and what all emitters share. Not thread-safe.
 */
public final class Emitter {
  private static final Mask TAIL = new Mask(1);
  private static final Mask CHOSEN = new Mask(4);

  private final Assembler assembler = new Assembler();
  private final Level level;
  private final Map<FunctionSource, Function> functions = new HashMap<>();

  /** Where the function begins that is being written. */
  private int entry;

  /** An emitter of functions that use the instructions of a level. */
  public Emitter(Level level) {
    this.level = level;
  }

  /** Returns which instructions functions may use. */
  public Level level() {
    return level;
  }

  Assembler assembler() {
    return assembler;
  }

  /** Returns how long vectors are. */
  public Length length() {
    return level.length();
  }

  /** Returns the floats of a vector. */
  public int lanes() {
    return length().bytes() / Float.BYTES;
  }

  Vector vector(int number) {
    return new Vector(length(), number);
  }

  /** Returns the function of a source, which is written where there is none. */
  Function function(FunctionSource source) {
    Function function = functions.get(source);
    if (function == null) {
      assembler.align(Assembler.ALIGNMENT);
      entry = assembler.position();
      function = source.write(this);
      functions.put(source, function);
    }
    return function;
  }

  /** Begins a function that has no use for o2: rdx and rcx become addresses. */
  Assembler begin() {
    assembler.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    assembler.emit(Alu.ADD, Gpr.RCX, Gpr.RDI);
    return assembler;
  }

  /**
   * Begins a function: rdx, rcx and r8 become addresses.
   *
   * @param isConstant whether o2 is an offset into the constants, else into memory
   */
  Assembler begin(boolean isConstant) {
    begin();
    assembler.emit(Alu.ADD, Gpr.R8, isConstant ? Gpr.RSI : Gpr.RDI);
    return assembler;
  }

  /** Ends a loop over blocks, which r9 counts, and a function that is nothing else: none of o2. */
  Function endBlocks(Label again, Extent read, Extent written) {
    assembler.emit(Alu.ADD, Gpr.RDX, Math.toIntExact(read.next()));
    assembler.emit(Alu.ADD, Gpr.RCX, Math.toIntExact(written.next()));
    assembler.countDown(Gpr.R9, again);
    assembler.vzeroupper();
    return end(read, written);
  }

  /** Ends a function that has no use for o2. */
  Function end(Extent read, Extent written) {
    return end(read, written, Extent.NONE, false);
  }

  /** Ends a function, which returns here, and says what it accesses. */
  Function end(Extent read, Extent written, Extent other, boolean isConstant) {
    assembler.ret();
    return new Function(entry, read, written, other, isConstant);
  }

  /** Ends a function, which returns here, and says by argument what it accesses in memory. */
  Function end(List<Extent> extents) {
    assembler.ret();
    return new Function(entry, extents, false);
  }

  /** Returns the code of all functions. */
  public byte[] finish() {
    return assembler.finish();
  }

  /**
   * Has {@link #loadTail} and {@link #storeTail} access some floats; changes rax or a vector.
   *
   * @param floats 0 where there is no tail
   */
  void setTail(int floats, Vector scratch) {
    if (floats == 0) {
      return;
    }
    if (scratch.length() == Length.ZMM) {
      assembler.mov(Gpr.RAX, (1L << floats) - 1);
      assembler.kmovw(TAIL, Gpr.RAX);
    } else {
      int[] words = new int[scratch.length().bytes() / Float.BYTES];
      Arrays.fill(words, 0, floats, -1);
      assembler.load(Move.VMOVUPS, scratch, Address.at(assembler.constant(words)));
    }
  }

  void loadTail(Vector to, Vector scratch, Address from) {
    if (to.length() == Length.ZMM) {
      assembler.load(Move.VMOVUPS, to, TAIL, from);
    } else {
      assembler.vmaskmovps(to, scratch, from);
    }
  }

  void storeTail(Address to, Vector scratch, Vector from) {
    if (from.length() == Length.ZMM) {
      assembler.store(Move.VMOVUPS, to, TAIL, from);
    } else {
      assembler.vmaskmovps(to, scratch, from);
    }
  }

  /** Loads a whole vector, or its floats of the tail. */
  void load(boolean isTail, Vector to, Vector scratch, Address from) {
    if (isTail) {
      loadTail(to, scratch, from);
    } else {
      assembler.load(Move.VMOVUPS, to, from);
    }
  }

  /** Stores a whole vector, or its floats of the tail. */
  void store(boolean isTail, Address to, Vector scratch, Vector from) {
    if (isTail) {
      storeTail(to, scratch, from);
    } else {
      assembler.store(Move.VMOVUPS, to, from);
    }
  }

  /** Loads the bounds of an activation into two registers, as far as there are bounds. */
  void loadBounds(FusedActivation activation, Vector low, Vector high) {
    broadcast(activation.range().min(), low);
    broadcast(activation.range().max(), high);
  }

  /** Returns where a float stands in all elements of a vector, behind the code. */
  Address all(float value) {
    int[] words = new int[Length.ZMM.bytes() / Float.BYTES];
    Arrays.fill(words, Float.floatToRawIntBits(value));
    return Address.at(assembler.constant(words));
  }

  /** Returns where all bits of the first elements of a vector are set, and none of the others. */
  Address first(int elements) {
    int[] words = new int[Length.ZMM.bytes() / Float.BYTES];
    Arrays.fill(words, 0, elements, -1);
    return Address.at(assembler.constant(words));
  }

  /** Returns where a float stands in the elements of a vector behind the first, which are 0. */
  Address behind(int elements, float value) {
    int[] words = new int[Length.ZMM.bytes() / Float.BYTES];
    Arrays.fill(words, elements, words.length, Float.floatToRawIntBits(value));
    return Address.at(assembler.constant(words));
  }

  /** Returns where the floats 0, 1, 2 and so on stand, one in each element of a vector. */
  Address counted() {
    int[] words = new int[Length.ZMM.bytes() / Float.BYTES];
    Arrays.setAll(words, i -> Float.floatToRawIntBits(i));
    return Address.at(assembler.constant(words));
  }

  /** Returns a register that it sets to a float in all elements. */
  Vector vectorOf(float value, Vector to) {
    assembler.load(Move.VMOVUPS, to, all(value));
    return to;
  }

  /** Copies those elements of a vector for which a comparison holds; changes a register. */
  void replace(
      Predicate predicate, Vector first, Vector second, Vector to, Vector with, Vector scratch) {
    if (to.length() == Length.ZMM) {
      assembler.vcmpps(CHOSEN, first, second, predicate);
      assembler.emit(Move.VMOVUPS, to, CHOSEN, with);
    } else {
      assembler.vcmpps(scratch, first, second, predicate);
      assembler.vblendvps(to, to, with, scratch);
    }
  }

  private void broadcast(float value, Vector to) {
    if (Float.isFinite(value)) {
      Label label = assembler.constant(Float.floatToRawIntBits(value));
      assembler.emit(Unary.VBROADCASTSS, to, Address.at(label));
    }
  }

  /** Clamps a vector. NaN stays NaN: it is the second operand, which these return then. */
  void clamp(FusedActivation activation, Vector value, Vector low, Vector high) {
    if (Float.isFinite(activation.range().min())) {
      assembler.emit(Binary.VMAXPS, value, low, value);
    }
    if (Float.isFinite(activation.range().max())) {
      assembler.emit(Binary.VMINPS, value, high, value);
    }
  }
}
