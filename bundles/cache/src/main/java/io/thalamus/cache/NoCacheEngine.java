// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/** An engine that keeps nothing: a device with it compiles each time. Immutable. */
public final class NoCacheEngine implements CacheEngine {
  private static IOException refusal() {
    return new IOException("this device was made without a place to cache in");
  }

  @Override
  public byte[] code(List<MemorySegment> files) throws IOException {
    throw refusal();
  }

  @Override
  public void remember(String device, CacheToken token, byte[] code) throws IOException {
    throw refusal();
  }

  @Override
  public boolean isRemembered(String device, CacheToken token, List<MemorySegment> files) {
    return false;
  }

  @Override
  public Hold hold(Deadline deadline) throws IOException {
    throw refusal();
  }

  @Override
  public byte[] authenticate(String purpose, MemorySegment bytes) throws IOException {
    throw refusal();
  }

  @Override
  public BlobStore blobs(String version, BlobLimits limits) {
    return new BlobStore() {
      @Override
      public void set(byte[] key, byte[] value) {
        // As where the storage cannot be written.
      }

      @Override
      public Optional<byte[]> get(byte[] key) {
        return Optional.empty();
      }
    };
  }
}
