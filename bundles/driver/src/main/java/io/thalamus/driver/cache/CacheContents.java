// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.Stream;

/**
 * The bytes of one cached compilation, by file. They are not copied and must not be written.
 *
 * @param modelCache code
 * @param dataCache tensor elements, which may be used where they are: what was read begins at a
 *     cache line outside the heap, and is freed when nobody can reach it any more
 */
public record CacheContents(List<byte[]> modelCache, List<MemorySegment> dataCache) {
  public CacheContents {
    modelCache = List.copyOf(modelCache);
    dataCache = List.copyOf(dataCache);
  }

  /** Returns what each file holds, the model caches first. */
  List<MemorySegment> files() {
    return Stream.concat(modelCache.stream().map(MemorySegment::ofArray), dataCache.stream())
        .toList();
  }
}
