// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Shape;
import io.thalamus.x86.kernel.Function;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * A compiled graph. Immutable; the arrays are not copied and must not be written.
 *
 * @param code of all functions
 * @param constants weights as the functions read them
 * @param calls {@link #CALL} numbers each: entry, o0 to o4, blocks
 * @param functions by call, what it accesses
 * @param groups all calls, in their order
 * @param operations by operation of the graph, the call behind its last one
 * @param memory bytes of a run
 * @param copied constants that a run's memory begins with
 * @param checks what a run finds wrong with its values, in the end
 * @param inputs by input of the graph; null where nothing reads it
 * @param outputs by output of the graph
 * @param shapes of the outputs
 * @param large which numbers of the calls are offsets into the constants where the function reads
 *     the memory of a run
 */
public record Program(
    byte[] code,
    Constants constants,
    long[] calls,
    List<Function> functions,
    List<Group> groups,
    int[] operations,
    long memory,
    List<Copied> copied,
    List<Check> checks,
    Argument[] inputs,
    Argument[] outputs,
    List<Shape> shapes,
    int[] large) {
  /** Bytes behind each tensor that may be read: what is there means nothing. */
  public static final int SLACK = 64;

  /** Numbers of a call. */
  public static final int CALL = Function.ARGUMENTS + 2;

  /** The number of a call that is its blocks. */
  public static final int BLOCKS = CALL - 1;

  /**
   * Returns the same without what a run does not need once the code is loaded. Numbers that are
   * offsets into the constants are addresses.
   */
  public Program loaded() {
    return with(new byte[0], constants, constantNumbers(constants::address), List.of(), copied);
  }

  /** Returns the same with constants of its own, which the caller closes. */
  public Program alone() {
    Constants.Copy copy = constants.new Copy();
    return with(
        code,
        copy.constants(),
        constantNumbers(copy::offset),
        functions,
        copied.stream().map(one -> new Copied(copy.offset(one.from()), one.to())).toList());
  }

  private Program with(
      byte[] code,
      Constants constants,
      long[] calls,
      List<Function> functions,
      List<Copied> copied) {
    return new Program(
        code,
        constants,
        calls,
        functions,
        groups,
        operations,
        memory,
        copied,
        checks,
        inputs,
        outputs,
        shapes,
        large);
  }

  /** Returns the numbers of the calls, of which some have become others. */
  private long[] constantNumbers(LongUnaryOperator change) {
    long[] changed = calls.clone();
    for (int i = 0; i < functions.size(); i++) {
      if (functions.get(i).isConstant()) {
        int number = i * CALL + 1 + Function.OTHER;
        changed[number] = change.applyAsLong(changed[number]);
      }
    }
    for (int number : large) {
      changed[number] = change.applyAsLong(changed[number]);
    }
    return changed;
  }

  /** Returns true if an argument of a call is an offset into the constants. */
  public boolean isConstant(int call, int argument) {
    return functions.get(call).isConstant(argument)
        || Arrays.binarySearch(large, call * CALL + 1 + argument) >= 0;
  }

  /**
   * Calls that follow those of the group before.
   *
   * @param end behind the last one
   * @param isShared whether they write to different places and last long enough to be divided among
   *     threads; else they are made one after the other
   */
  public record Group(int end, boolean isShared) {}

  /** Bytes of the memory of a run. */
  public record Range(long offset, long bytes) {}

  /**
   * An argument in the memory of a run.
   *
   * @param numbers which ones of the calls lead there, all of them; none where it cannot stand
   *     anywhere else
   */
  public record Argument(Range range, int[] numbers) {}

  /**
   * Numbers that must be within bounds.
   *
   * @param at where a run's memory holds 0, or else what {@code CheckedIndexes} tells
   * @param limit what indexes must be below; 0 for integers of 64 bits that must be ones of 32
   */
  public record Check(long at, int limit) {}

  /** A constant that stands in the memory of a run. */
  public record Copied(long from, Range to) {}
}
