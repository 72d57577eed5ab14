// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A bounded map from keys to values that outlives the process, by the rules of NNAPI's BlobCache.
 * Thread-safe, and shared by processes: each sees what the others keep. Ends with its {@link
 * CacheEngine}; after that it is empty and keeps nothing.
 */
@ProviderType
public interface BlobStore {
  /**
   * Keeps a value, in place of what the key had before. Does nothing where key or value is empty or
   * too large, where there is no room even after an eviction, or where the storage cannot be
   * written.
   */
  void set(byte[] key, byte[] value);

  /** The value of a key, which thereby counts as used. */
  Optional<byte[]> get(byte[] key);
}
