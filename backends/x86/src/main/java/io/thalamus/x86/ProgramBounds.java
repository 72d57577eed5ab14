// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Argument;
import io.thalamus.x86.compile.Program.Check;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.kernel.CheckedIndexes;
import io.thalamus.x86.kernel.Extent;
import io.thalamus.x86.kernel.Function;
import java.io.IOException;

/**
 * A second look at a program before its code may run, wherever it comes from: each call begins
 * within the code, and what its function accesses lies within the memory of a run or within the
 * constants. It believes what functions say of themselves. Stateless.
 */
final class ProgramBounds {
  private final Program program;
  private final long constants;

  private ProgramBounds(Program program) {
    this.program = program;
    constants = program.constants().bytes();
  }

  /**
   * Checks all numbers of a program.
   *
   * @throws IOException where one of them leads out of what it is for
   */
  static void check(Program program) throws IOException {
    new ProgramBounds(program).check();
  }

  private void check() throws IOException {
    within(program.memory() >= 0, "the memory of a run");
    long[] calls = program.calls();
    int count = calls.length / Program.CALL;
    within(calls.length % Program.CALL == 0 && program.functions().size() == count, "the calls");
    checkLarge();
    for (int i = 0; i < count; i++) {
      check(i, program.functions().get(i));
    }
    int first = 0;
    for (Group group : program.groups()) {
      within(group.end() >= first && group.end() <= count, "a group of calls");
      first = group.end();
    }
    within(first == count, "the last group of calls");
    first = 0;
    for (int end : program.operations()) {
      within(end >= first && end <= count, "an operation");
      first = end;
    }
    within(first == count, "the last operation");
    for (Argument[] some : new Argument[][] {program.inputs(), program.outputs()}) {
      for (Argument argument : some) {
        within(argument == null || fits(argument, Program.SLACK), "an argument");
      }
    }
    for (Check check : program.checks()) {
      within(fits(check.at(), CheckedIndexes.STATUS, program.memory()), "a check");
    }
    for (Copied one : program.copied()) {
      within(
          fits(one.to().offset(), one.to().bytes(), program.memory())
              && fits(one.from(), one.to().bytes(), constants),
          "a copied constant");
    }
  }

  private void checkLarge() throws IOException {
    int before = -1;
    for (int number : program.large()) {
      int argument = number % Program.CALL - 1;
      within(
          number > before
              && number < program.calls().length
              && argument >= 0
              && argument < Function.ARGUMENTS
              && argument != Function.WRITTEN
              && !program.functions().get(number / Program.CALL).isConstant(argument),
          "a large constant");
      before = number;
    }
  }

  private void check(int index, Function function) throws IOException {
    int at = index * Program.CALL;
    long[] calls = program.calls();
    long blocks = calls[at + Program.BLOCKS];
    boolean isWithin =
        calls[at] == function.entry()
            && function.entry() >= 0
            && function.entry() < program.code().length
            && blocks >= 1;
    for (int i = 0; i < Function.ARGUMENTS; i++) {
      boolean isConstant = program.isConstant(index, i);
      long from = calls[at + 1 + i];
      isWithin &=
          fits(function.extent(i), blocks, from, isConstant ? constants : program.memory())
              // A run has its address, even if nothing is accessed there.
              && (!isConstant || from >= 0 && from <= constants);
    }
    within(isWithin, "call " + index);
  }

  /** Returns whether calls access nothing behind the bytes of an argument, even to read. */
  static boolean isExact(Program program, Argument argument) {
    return argument != null && new ProgramBounds(program).fits(argument, 0);
  }

  /**
   * Returns whether an argument is within memory, and calls that lead there within it.
   *
   * @param slack bytes behind it that may be read
   */
  private boolean fits(Argument argument, long slack) {
    long offset = argument.range().offset();
    long bytes = argument.range().bytes();
    for (int number : argument.numbers()) {
      int call = number / Program.CALL;
      if (number < 0 || call >= program.functions().size()) {
        return false;
      }
      Function function = program.functions().get(call);
      int at = number % Program.CALL - 1;
      if (at < 0 || at >= Function.ARGUMENTS || program.isConstant(call, at)) {
        return false;
      }
      long room = bytes + (at == Function.WRITTEN ? 0 : slack);
      long blocks = program.calls()[call * Program.CALL + Program.BLOCKS];
      if (!fits(function.extent(at), blocks, program.calls()[number] - offset, room)) {
        return false;
      }
    }
    return fits(offset, bytes, program.memory());
  }

  private static boolean fits(Extent extent, long blocks, long from, long room) {
    if (extent.first() < 0 || extent.next() < 0 || blocks > Integer.MAX_VALUE) {
      return false;
    }
    // Of an unused argument the address is computed all the same, and nothing is accessed.
    return extent.first() == 0
        || extent.first() <= Integer.MAX_VALUE
            && extent.next() <= Integer.MAX_VALUE
            && fits(from, extent.bytes(blocks), room);
  }

  private static boolean fits(long from, long bytes, long room) {
    return from >= 0 && bytes >= 0 && bytes <= room - from;
  }

  private static void within(boolean isWithin, String what) throws IOException {
    if (!isWithin) {
      throw new IOException(what + " is out of bounds");
    }
  }
}
