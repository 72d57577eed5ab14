// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

/**
 * Heaps of places of keys, at whose root is the place of the least key, of equal ones the first.
 * Keys and places may stand in the same array. Stateless.
 */
final class Heap {
  private Heap() {}

  /** Makes a heap of places in any order, the first of which stands at an index. */
  static void order(int[] keys, int[] places, int first, int size) {
    for (int i = size / 2 - 1; i >= 0; i--) {
      sink(keys, places, first, i, size);
    }
  }

  /** Takes the root out of a heap, and leaves it behind the rest. */
  static int take(int[] keys, int[] places, int first, int size) {
    int root = places[first];
    places[first] = places[first + size - 1];
    places[first + size - 1] = root;
    sink(keys, places, first, 0, size - 1);
    return root;
  }

  /** Lets a place sink to where it belongs. */
  static void sink(int[] keys, int[] places, int first, int begin, int size) {
    int at = begin;
    int place = places[first + at];
    for (int child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && isAbove(keys, places[first + child + 1], places[first + child])) {
        child++;
      }
      if (isAbove(keys, place, places[first + child])) {
        break;
      }
      places[first + at] = places[first + child];
      at = child;
    }
    places[first + at] = place;
  }

  private static boolean isAbove(int[] keys, int place, int other) {
    return keys[place] < keys[other] || keys[place] == keys[other] && place < other;
  }

  /** Returns a float as an integer in the same order; zeros of both signs are equal. */
  static int key(float number) {
    int bits = Float.floatToRawIntBits(number + 0f);
    return bits ^ (bits >> 31 & Integer.MAX_VALUE);
  }
}
