// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.io.IOException;
import java.nio.channels.FileChannel;

/**
 * An open cache file, readable and writable, of any size and position. The runtime closes it after
 * the call it was given to; a device that writes later keeps a duplicate.
 */
public interface CacheFile extends AutoCloseable {
  /** The open file. */
  FileChannel channel();

  /**
   * A second handle of the same file, with a position of its own, owned by the caller.
   *
   * @throws IOException where this handle is closed, or the file cannot be opened once more
   */
  CacheFile duplicate() throws IOException;

  /**
   * Tells that the compilation is not stored in its files, for whoever looks after the directory:
   * the runtime says it once, however many compilations meet the same. The device's call goes on.
   * Duplicates may be told as well, in any thread, until they are closed.
   *
   * @param cause what the device met
   */
  default void abandon(IOException cause) {
    // Whoever opened the files need not care.
  }

  @Override
  void close();
}
