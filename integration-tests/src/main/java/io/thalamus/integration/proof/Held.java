// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.io.IOException;
import javax.management.JMException;

/**
 * The resources of the process while nothing runs. Immutable.
 *
 * @param heapBytes of objects, after a collection
 * @param nativeBytes of arenas; 0 where the process does not tell
 * @param threads platform threads
 */
record Held(long heapBytes, long nativeBytes, int threads) {
  static Held now() throws JMException, IOException {
    NativeMemory memory = NativeMemory.now();
    return new Held(HeapCheck.liveBytes(), memory.arenaBytes().orElse(0), memory.threads());
  }

  /** The larger of each. */
  Held orMore(Held other) {
    return new Held(
        Math.max(heapBytes, other.heapBytes),
        Math.max(nativeBytes, other.nativeBytes),
        Math.max(threads, other.threads));
  }
}
