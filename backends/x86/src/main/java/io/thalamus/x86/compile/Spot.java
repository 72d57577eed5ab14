// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

/**
 * A place, or the constants, from some byte on.
 *
 * @param place null for the constants
 */
record Spot(Place place, long at) {
  static Spot ofConstant(long at) {
    return new Spot(null, at);
  }

  Spot plus(long bytes) {
    return new Spot(place, at + bytes);
  }

  long offset() {
    return place == null ? at : place.offset() + at;
  }
}
