// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Shift;
import java.util.List;

/**
 * Tuples of indexes, as where the rows begin that they name. An index that is out of bounds counts
 * as 0, and the first one of each place in a tuple is reported.
 *
 * @param count of tuples
 * @param limits by place in a tuple: no index is as large as this
 * @param steps by place in a tuple: bytes from what one index names to what the next does
 */
public record CheckedIndexes(int count, List<Integer> limits, List<Integer> steps)
    implements FunctionSource {
  /** Bytes of the report on a place in a tuple: 0 if all indexes are within bounds. */
  public static final int STATUS = Long.BYTES;

  /** Copies the lists. */
  public CheckedIndexes {
    limits = List.copyOf(limits);
    steps = List.copyOf(steps);
  }

  /** Returns the bytes of the result. */
  public long bytes() {
    return places() + (long) count * Long.BYTES;
  }

  /** Returns where the beginnings of rows stand in the result. */
  public int places() {
    return limits.size() * STATUS;
  }

  /** Returns which index was out of bounds by its report. */
  public static int index(long status) {
    return (int) (status >>> Integer.SIZE) - 1;
  }

  /**
   * Returns the function: o0 are the indexes, of 32 bits; o1 is the report on each place in a
   * tuple, and behind it the beginnings of rows, of 64 bits. There is one block.
   */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    a.mov(Gpr.R8, 1);
    a.mov(Gpr.RDI, Gpr.RCX);
    a.mov(Gpr.RAX, 0);
    for (int i = 0; i < limits.size(); i++) {
      a.store(Address.at(Gpr.RDI, i * STATUS), Gpr.RAX);
    }
    Loops.repeat(
        a,
        Gpr.R9,
        count,
        () -> {
          a.mov(Gpr.RSI, 0);
          for (int i = 0; i < limits.size(); i++) {
            check(a, i);
          }
          a.store(Address.at(Gpr.RCX, places()), Gpr.RSI);
          a.emit(Alu.ADD, Gpr.RDX, limits.size() * Integer.BYTES);
          a.emit(Alu.ADD, Gpr.RCX, Long.BYTES);
          a.emit(Alu.ADD, Gpr.R8, 1);
        });
    return emitter.end(
        // Loaded by eight bytes.
        new Extent(((long) count * limits.size() + 1) * Integer.BYTES, 0), new Extent(bytes(), 0));
  }

  /** A status has the number of the tuple, from 1 on, above the bits of the index. */
  private void check(Assembler a, int place) {
    Label good = new Label();
    a.load(Gpr.RAX, Address.at(Gpr.RDX, place * Integer.BYTES));
    a.emit(Shift.SHL, Gpr.RAX, Integer.SIZE);
    a.emit(Shift.SHR, Gpr.RAX, Integer.SIZE);
    a.emit(Alu.CMP, Gpr.RAX, limits.get(place));
    a.jump(Condition.BELOW, good);
    Label reported = new Label();
    a.load(Gpr.R10, Address.at(Gpr.RDI, place * STATUS));
    a.emit(Alu.CMP, Gpr.R10, 0);
    a.jump(Condition.NOT_EQUAL, reported);
    a.mov(Gpr.R10, Gpr.R8);
    a.emit(Shift.SHL, Gpr.R10, Integer.SIZE);
    a.emit(Alu.OR, Gpr.R10, Gpr.RAX);
    a.store(Address.at(Gpr.RDI, place * STATUS), Gpr.R10);
    a.bind(reported);
    a.mov(Gpr.RAX, 0);
    a.bind(good);
    a.imul(Gpr.RAX, Gpr.RAX, steps.get(place));
    a.emit(Alu.ADD, Gpr.RSI, Gpr.RAX);
  }
}
