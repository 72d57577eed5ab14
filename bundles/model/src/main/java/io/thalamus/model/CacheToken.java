// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Arrays;
import java.util.HexFormat;

/** The 32 bytes by which an application, or the runtime, names a compilation. Immutable. */
public final class CacheToken {
  /** NNAPI's BYTE_SIZE_OF_CACHE_TOKEN. */
  public static final int SIZE = 32;

  private final byte[] bytes;

  private CacheToken(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * A token of these bytes, which are copied.
   *
   * @throws IllegalArgumentException where there are not 32
   */
  public static CacheToken of(byte[] bytes) {
    if (bytes.length != SIZE) {
      throw new IllegalArgumentException(
          "a cache token has " + SIZE + " bytes, not " + bytes.length);
    }
    return new CacheToken(bytes.clone());
  }

  /** A copy of the bytes. */
  public byte[] toArray() {
    return bytes.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CacheToken that && Arrays.equals(bytes, that.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return HexFormat.of().formatHex(bytes);
  }
}
