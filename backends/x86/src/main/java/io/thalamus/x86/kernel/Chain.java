// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Functions of elements of 32 bits, one after the other in registers, over runs of tensors; a block
 * is a run, and results stand beside each other. Nothing but the last result is stored.
 *
 * @param sources the tensors, o0, o2, o3 and o4 at the most
 * @param steps each of them behind those that it reads; the last one is the result
 * @param count elements of a run
 */
public record Chain(List<Source> sources, List<Step> steps, int count) implements FunctionSource {
  /** Tensors that a function can read. */
  public static final int MOST_SOURCES = Function.ARGUMENTS - 1;

  private static final int TAIL = 0;
  private static final int SCRATCH = 1;

  /** The first register that results stay in until they are read. */
  private static final int RESULTS = SCRATCH + ElementFunction.SCRATCH;

  /** Results that may wait at the same time: AVX2 has 16 registers. */
  public static final int MOST_RESULTS = 16 - RESULTS;

  private static final Gpr[] POINTERS = {Gpr.RDX, Gpr.R8, Gpr.R10, Gpr.R11};

  /** Bytes from the stack pointer to the first argument on the stack. */
  private static final int STACK = 8;

  /**
   * A tensor.
   *
   * @param isRepeated whether a run stays at one element
   * @param step elements from one run to the next
   */
  public record Source(boolean isRepeated, int step) {}

  /** What a step reads. */
  public sealed interface Operand {
    /** The elements of a source. */
    record Tensor(int source) implements Operand {}

    /** The same bits for all elements. */
    record Number(int bits) implements Operand {}

    /** The results of a step before. */
    record Result(int step) implements Operand {}
  }

  /** A function and what it reads. */
  public record Step(ElementFunction function, List<Operand> operands) {
    public Step {
      operands = List.copyOf(operands);
    }
  }

  public Chain {
    sources = List.copyOf(sources);
    steps = List.copyOf(steps);
    if (sources.isEmpty() || sources.size() > MOST_SOURCES) {
      throw new IllegalArgumentException(sources.size() + " tensors");
    }
    if (results(steps) > MOST_RESULTS) {
      throw new IllegalArgumentException("more results than registers");
    }
  }

  /** A function of the elements of some tensors. */
  static Chain of(ElementFunction function, int count, Source... sources) {
    List<Operand> operands = new ArrayList<>();
    for (int i = 0; i < function.operands(); i++) {
      operands.add(new Operand.Tensor(i));
    }
    return new Chain(List.of(sources), List.of(new Step(function, operands)), count);
  }

  /** Returns the results of some steps that wait at the same time. */
  public static int results(List<Step> steps) {
    return 1 + Arrays.stream(places(steps)).max().orElse(0);
  }

  /** Returns by step where its result waits, beside those that a later step reads. */
  private static int[] places(List<Step> steps) {
    int[] places = new int[steps.size()];
    int[] last = new int[steps.size()];
    for (int i = 0; i < places.length; i++) {
      for (int read : read(steps.get(i))) {
        last[read] = i;
      }
    }
    BitSet taken = new BitSet();
    for (int i = 0; i < places.length; i++) {
      places[i] = taken.nextClearBit(0);
      taken.set(places[i]);
      for (int read : read(steps.get(i))) {
        if (last[read] == i) {
          taken.clear(places[read]);
        }
      }
    }
    return places;
  }

  private static int[] read(Step step) {
    return step.operands().stream()
        .filter(Operand.Result.class::isInstance)
        .mapToInt(operand -> ((Operand.Result) operand).step())
        .toArray();
  }

  private boolean isTruth() {
    return steps.getLast().function().isTruth();
  }

  private int resultSize() {
    return isTruth() ? 1 : Float.BYTES;
  }

  /** Returns the function: o1 is the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    for (int i = 2; i < sources.size(); i++) {
      a.load(POINTERS[i], Address.at(Gpr.RSP, STACK + (i - 2) * Long.BYTES));
      a.emit(Alu.ADD, POINTERS[i], Gpr.RDI);
    }
    boolean isShort = steps.stream().anyMatch(step -> step.function().isShort());
    Length length = isShort ? Length.YMM : emitter.length();
    int lanes = length.bytes() / Float.BYTES;
    int done = count / lanes * lanes;
    emitter.setTail(count % lanes, new Vector(length, TAIL));
    steps.forEach(step -> step.function().prepare(emitter, length));
    Label again = a.label();
    Loops.repeat(
        a,
        Gpr.RAX,
        count / lanes,
        () -> {
          one(emitter, length, lanes);
          a.emit(Alu.ADD, Gpr.RCX, lanes * resultSize());
          for (int i = 0; i < sources.size(); i++) {
            add(a, POINTERS[i], sources.get(i).isRepeated() ? 0 : lanes);
          }
        });
    if (count > done) {
      one(emitter, length, count - done);
    }
    a.emit(Alu.ADD, Gpr.RCX, (count - done) * resultSize());
    for (int i = 0; i < sources.size(); i++) {
      Source source = sources.get(i);
      add(a, POINTERS[i], source.step() - (source.isRepeated() ? 0 : done));
    }
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(extents());
  }

  private static void add(Assembler a, Gpr pointer, int elements) {
    if (elements != 0) {
      a.emit(Alu.ADD, pointer, elements * Float.BYTES);
    }
  }

  private List<Extent> extents() {
    long results = (long) count * resultSize();
    List<Extent> extents = new ArrayList<>();
    for (Source source : sources) {
      long elements = source.isRepeated() ? 1 : count;
      extents.add(new Extent(elements * Float.BYTES, (long) source.step() * Float.BYTES));
    }
    extents.add(Function.WRITTEN, new Extent(results, results));
    if (sources.size() == 1) {
      extents.add(Extent.NONE);
    }
    return extents;
  }

  private void one(Emitter emitter, Length length, int elements) {
    int[] places = places(steps);
    boolean isTail = elements < length.bytes() / Float.BYTES;
    Vector result = null;
    for (int i = 0; i < places.length; i++) {
      Step step = steps.get(i);
      result = new Vector(length, RESULTS + places[i]);
      List<Vector> operands = new ArrayList<>();
      for (Operand operand : step.operands()) {
        Vector loaded = new Vector(length, SCRATCH + operands.size());
        operands.add(
            operand instanceof Operand.Result(int read)
                ? new Vector(length, RESULTS + places[read])
                : load(emitter, operand, isTail, loaded));
      }
      step.function().emit(emitter, result, operands, SCRATCH);
    }
    if (isTruth()) {
      storeTruth(emitter, result, elements);
    } else {
      emitter.store(isTail, Address.at(Gpr.RCX, 0), new Vector(length, TAIL), result);
    }
  }

  private Vector load(Emitter emitter, Operand operand, boolean isTail, Vector to) {
    Assembler a = emitter.assembler();
    switch (operand) {
      case Operand.Number(int bits) -> a.emit(Unary.VBROADCASTSS, to, Address.at(a.constant(bits)));
      case Operand.Tensor(int source) -> {
        Address from = Address.at(POINTERS[source], 0);
        if (sources.get(source).isRepeated()) {
          a.emit(Unary.VBROADCASTSS, to, from);
        } else {
          emitter.load(isTail, to, new Vector(to.length(), TAIL), from);
        }
      }
      case Operand.Result _ -> throw new IllegalArgumentException("a result is in a register");
    }
    return to;
  }

  /** Stores a byte for each element, all of whose bits are set or none. */
  private static void storeTruth(Emitter emitter, Vector result, int elements) {
    Assembler a = emitter.assembler();
    a.emit(Binary.VPAND, result, result, BytesToFloats.ints(a, 1));
    Vector upper = new Vector(Length.XMM, SCRATCH);
    Vector lower = result.as(Length.XMM);
    a.vextracti128(upper, result, 1);
    a.emit(Binary.VPACKSSDW, lower, lower, upper);
    a.emit(Binary.VPACKSSWB, lower, lower, lower);
    Bytes.store(a, lower, Gpr.RCX, 0, elements);
  }
}
