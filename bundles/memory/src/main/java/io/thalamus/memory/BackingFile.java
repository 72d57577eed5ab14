// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import io.thalamus.memory.files.IoMessages;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;

/**
 * An open file behind a mapping. Immutable; owned by the memory that maps it.
 *
 * @param anonymous whether the file has no name any more, so that other processes open it through
 *     this one
 */
record BackingFile(FileChannel channel, Path path, boolean anonymous) {
  /**
   * Opens an existing file.
   *
   * @throws SharedMemoryException if it cannot be opened
   */
  static BackingFile open(Path path, boolean writable) {
    Objects.requireNonNull(path, "path");
    try {
      FileChannel channel =
          writable
              ? FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
              : FileChannel.open(path, StandardOpenOption.READ);
      return new BackingFile(channel, path, false);
    } catch (IOException e) {
      throw new SharedMemoryException("cannot open " + path + ": " + IoMessages.reason(e), e);
    }
  }

  /** Returns the path by which another process can open the file. */
  Path shareablePath() {
    return anonymous ? AnonymousFiles.shareablePath(path) : path;
  }

  void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new SharedMemoryException("cannot close " + path + ": " + e.getMessage(), e);
    }
  }
}
