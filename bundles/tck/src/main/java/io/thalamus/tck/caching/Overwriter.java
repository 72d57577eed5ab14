// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** Overwrites files with what others hold, on a thread of its own that ends when it is closed. */
final class Overwriter implements AutoCloseable {
  private final List<Path> files;
  private final List<byte[]> contents;
  private final Thread thread;
  private volatile boolean stopped;
  private volatile IOException failure;

  Overwriter(List<Path> files, List<byte[]> contents) {
    this.files = files;
    this.contents = contents;
    this.thread = Thread.ofPlatform().name("certify-overwriter").daemon().start(this::run);
  }

  private void run() {
    try {
      while (!stopped) {
        for (int i = 0; i < files.size(); i++) {
          overwrite(files.get(i), contents.get(i));
        }
      }
    } catch (IOException e) {
      failure = e;
    }
  }

  /** Truncates at the end only: a file that is emptied first is flushed when it is closed. */
  private static void overwrite(Path file, byte[] content) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(content));
      channel.truncate(content.length);
    }
  }

  @Override
  public void close() throws IOException {
    stopped = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the thread ends by itself
    }
    if (failure != null) {
      throw failure;
    }
  }
}
