// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

/**
 * A tensor in the memory of a run, whose offset is known in the end, or a constant that is read
 * where the constants stand. Used by one compilation.
 */
final class Place {
  private final long bytes;
  private int first = Integer.MAX_VALUE;
  private int last = Integer.MIN_VALUE;
  private long offset = -1;
  private boolean isConstant;

  Place(long bytes) {
    this.bytes = bytes;
  }

  /** Returns that of a constant. */
  static Place ofConstant(long bytes, long at) {
    Place place = new Place(bytes);
    place.isConstant = true;
    place.offset = at;
    return place;
  }

  /** Returns true if the offset is one into the constants. */
  boolean isConstant() {
    return isConstant;
  }

  /** Has a run copy it into its memory. */
  void move() {
    isConstant = false;
    offset = -1;
  }

  long bytes() {
    return bytes;
  }

  int first() {
    return first;
  }

  int last() {
    return last;
  }

  /** Returns the first byte from the begin of the memory, or of the constants. */
  long offset() {
    return offset;
  }

  /** Returns what stands from some byte on. */
  Spot at(long from) {
    return new Spot(this, from);
  }

  /** Has it kept during a step. */
  void use(int step) {
    first = Math.min(first, step);
    last = Math.max(last, step);
  }

  void put(long at) {
    offset = at;
  }
}
