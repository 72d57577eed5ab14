// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/**
 * In how many files a device stores one compilation. The runtime refuses devices that ask for more
 * than {@link #MAX_FILES} of a kind.
 *
 * @param modelCacheFiles files that hold code, and are checked before use
 * @param dataCacheFiles files that hold nothing but tensor elements
 */
public record CacheNeeds(int modelCacheFiles, int dataCacheFiles) {
  /** NNAPI's MAX_NUMBER_OF_CACHE_FILES, for each kind. */
  public static final int MAX_FILES = 32;

  /** The device does not cache. */
  public static final CacheNeeds NONE = new CacheNeeds(0, 0);

  /** Returns whether the device caches at all. */
  public boolean isCachingSupported() {
    return modelCacheFiles > 0 || dataCacheFiles > 0;
  }
}
