// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import java.util.Arrays;

/** Buffers that tiles are kept in, the oldest given up for a new one. Not thread-safe. */
final class Slots {
  private final int[] addresses;
  private final long[] keys;
  private int next;

  Slots(int[] addresses) {
    this.addresses = addresses;
    this.keys = new long[addresses.length];
    Arrays.fill(keys, -1);
  }

  /** The address of a tile that is kept, or -1. */
  int find(long key) {
    for (int i = 0; i < keys.length; i++) {
      if (keys[i] == key) {
        return addresses[i];
      }
    }
    return -1;
  }

  /** Room for a tile that is not kept. */
  int take(long key) {
    keys[next] = key;
    int address = addresses[next];
    next = (next + 1) % addresses.length;
    return address;
  }
}
