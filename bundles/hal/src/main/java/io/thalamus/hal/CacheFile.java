// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.nio.channels.FileChannel;

/**
 * An open cache file, readable and writable, of any size and position. The runtime closes it after
 * the call it was given to; a device that writes later keeps a duplicate.
 */
public interface CacheFile extends AutoCloseable {
  /** The open file. */
  FileChannel channel();

  /** A second handle of the same file, with a position of its own, owned by the caller. */
  CacheFile duplicate();

  @Override
  void close();
}
