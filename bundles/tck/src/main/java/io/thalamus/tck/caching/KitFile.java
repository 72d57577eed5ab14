// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.CacheFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.Queue;
import java.util.Set;

/**
 * A cache file as a runtime opens it, or wrongly. Thread-safe.
 *
 * @param path where it is
 * @param access how it is open
 * @param channel its handle
 * @param handles all handles that were opened for the same compilation, duplicates among them
 */
record KitFile(Path path, Access access, FileChannel channel, Queue<FileChannel> handles)
    implements CacheFile {
  /** The ways in which a file can be open. */
  enum Access {
    READ_WRITE,
    READ_ONLY,
    WRITE_ONLY,
    CLOSED
  }

  static KitFile open(Path path, Access access, Queue<FileChannel> handles) throws IOException {
    Set<StandardOpenOption> options =
        switch (access) {
          case READ_ONLY -> EnumSet.of(StandardOpenOption.READ);
          case WRITE_ONLY -> EnumSet.of(StandardOpenOption.WRITE);
          case READ_WRITE, CLOSED ->
              EnumSet.of(
                  StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        };
    FileChannel channel = FileChannel.open(path, options);
    if (access == Access.CLOSED) {
      channel.close();
    }
    handles.add(channel);
    return new KitFile(path, access, channel, handles);
  }

  @Override
  public CacheFile duplicate() throws IOException {
    return open(path, access, handles);
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
