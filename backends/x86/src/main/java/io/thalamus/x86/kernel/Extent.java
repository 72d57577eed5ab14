// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

/**
 * The bytes that a function accesses behind one of its arguments, as its emitter computes them.
 *
 * @param first of one block; 0 where the argument is not used
 * @param next of each further block
 */
public record Extent(long first, long next) {
  /** Nothing is accessed. */
  public static final Extent NONE = new Extent(0, 0);

  /** Returns the bytes of a call. */
  public long bytes(long blocks) {
    return first == 0 ? 0 : first + (blocks - 1) * next;
  }
}
