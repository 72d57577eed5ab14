// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import java.util.List;

/**
 * Code of the form {@code f(memory, constants, o0, o1, o2, blocks, o3, o4)} by the calling
 * convention of System V, and what it accesses. Immutable.
 *
 * @param entry offset of the first instruction
 * @param extents by argument, {@link #ARGUMENTS} at most, what is accessed behind it: what is read,
 *     what is written, and what else is read
 * @param isConstant whether o2 is an offset into the constants; all others are ones into memory
 */
public record Function(int entry, List<Extent> extents, boolean isConstant) {
  /** The offsets o0, o1 and so on. */
  public static final int ARGUMENTS = 5;

  /** The one of {@link #ARGUMENTS} that the function writes behind. */
  public static final int WRITTEN = 1;

  /** The one that may be an offset into the constants. */
  public static final int OTHER = 2;

  public Function {
    extents = List.copyOf(extents);
    if (extents.size() > ARGUMENTS) {
      throw new IllegalArgumentException(extents.size() + " arguments");
    }
  }

  /** A function of three arguments. */
  public Function(int entry, Extent read, Extent written, Extent other, boolean isConstant) {
    this(entry, List.of(read, written, other), isConstant);
  }

  /** Returns what is accessed behind an argument. */
  public Extent extent(int argument) {
    return argument < extents.size() ? extents.get(argument) : Extent.NONE;
  }

  /** Returns what is accessed behind memory + o0. */
  public Extent read() {
    return extent(0);
  }

  /** Returns what is accessed behind memory + o1. */
  public Extent written() {
    return extent(WRITTEN);
  }

  /** Returns what is accessed behind o2, added to constants or to memory. */
  public Extent other() {
    return extent(OTHER);
  }

  /** Returns true if an argument is an offset into the constants. */
  public boolean isConstant(int argument) {
    return isConstant && argument == OTHER;
  }
}
