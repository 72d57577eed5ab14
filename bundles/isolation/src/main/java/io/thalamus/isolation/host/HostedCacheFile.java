// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.host;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.model.wire.Encoder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A handle of a cache file, for the device: of the copy that the container brings back once the
 * last handle is closed. Thread-safe.
 */
final class HostedCacheFile implements CacheFile {
  private final Copy copy;
  private final FileChannel channel;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  /** The state that all handles of a file share. */
  private record Copy(
      int id, Path path, boolean isWritable, Connection connection, AtomicInteger handles) {}

  private HostedCacheFile(Copy copy) throws IOException {
    this.copy = copy;
    Set<StandardOpenOption> options = EnumSet.of(StandardOpenOption.READ);
    if (copy.isWritable()) {
      options.add(StandardOpenOption.WRITE);
    }
    this.channel = FileChannel.open(copy.path(), options);
    copy.handles().incrementAndGet();
  }

  /**
   * Opens the first handle of a file.
   *
   * @throws UncheckedIOException where it is not there
   */
  static CacheFile open(int id, Path path, boolean isWritable, Connection connection) {
    try {
      return new HostedCacheFile(new Copy(id, path, isWritable, connection, new AtomicInteger()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public FileChannel channel() {
    return channel;
  }

  @Override
  public CacheFile duplicate() throws IOException {
    if (isClosed.get()) {
      throw new ClosedChannelException();
    }
    return new HostedCacheFile(copy);
  }

  @Override
  public void abandon(IOException cause) {
    tell(
        MessageType.CACHE_ABANDONED,
        new Encoder().int32(copy.id()).text(String.valueOf(cause.getMessage())));
  }

  @Override
  public void close() {
    if (!isClosed.compareAndSet(false, true)) {
      return;
    }
    try {
      channel.close();
    } catch (IOException e) {
      abandon(e);
    }
    if (copy.handles().decrementAndGet() == 0) {
      tell(MessageType.CACHE_CLOSED, new Encoder().int32(copy.id()));
    }
  }

  private void tell(MessageType type, Encoder body) {
    try {
      copy.connection().send(type, body);
    } catch (DeviceException e) {
      throw new IllegalStateException("a short message is too long", e);
    }
  }
}
