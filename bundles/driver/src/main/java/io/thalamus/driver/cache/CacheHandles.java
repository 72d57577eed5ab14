// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.CacheNeeds;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Checks of, and access to, the files that a device is given. Stateless. */
final class CacheHandles {
  /** Bytes of a cache line. */
  private static final long ALIGNMENT = 64;

  private CacheHandles() {}

  /** Returns the fault of the number of files, if there is one. */
  static Optional<String> countFault(Cache cache, CacheNeeds needs) {
    int model = cache.modelCache().size();
    int data = cache.dataCache().size();
    return model == needs.modelCacheFiles() && data == needs.dataCacheFiles()
        ? Optional.empty()
        : Optional.of(
            "a compilation takes "
                + needs.modelCacheFiles()
                + " model-cache and "
                + needs.dataCacheFiles()
                + " data-cache files, not "
                + model
                + " and "
                + data);
  }

  /** Returns the fault of the files, if there is one: each must be open for reading and writing. */
  static Optional<String> fault(Cache cache) {
    return Stream.concat(cache.modelCache().stream(), cache.dataCache().stream())
        .map(CacheHandles::fault)
        .flatMap(Optional::stream)
        .findFirst();
  }

  private static Optional<String> fault(CacheFile file) {
    FileChannel channel = file.channel();
    if (channel == null || !channel.isOpen()) {
      return Optional.of("a cache file is closed");
    }
    try {
      // No bytes are moved, but the rights are looked at.
      channel.read(ByteBuffer.allocate(0));
      channel.write(ByteBuffer.allocate(0));
      return Optional.empty();
    } catch (NonReadableChannelException e) {
      return Optional.of("a cache file is not open for reading");
    } catch (NonWritableChannelException e) {
      return Optional.of("a cache file is not open for writing");
    } catch (IOException e) {
      return Optional.of("a cache file cannot be used: " + e);
    }
  }

  /**
   * All bytes of a file, wherever its position is.
   *
   * @param most that may be read
   * @param memory that nobody else can write
   */
  static MemorySegment read(FileChannel channel, long most, SegmentAllocator memory)
      throws IOException {
    long size = channel.size();
    if (size > Math.min(most, Integer.MAX_VALUE - 8)) {
      throw new IOException("a cache file has " + size + " bytes, more than " + most);
    }
    MemorySegment all = memory.allocate(size, ALIGNMENT);
    ByteBuffer bytes = all.asByteBuffer();
    while (bytes.hasRemaining()) {
      if (channel.read(bytes, bytes.position()) < 0) {
        throw new IOException("a cache file is being cut short");
      }
    }
    return all;
  }

  /** Puts these bytes in place of all that a file holds. */
  static void write(FileChannel channel, MemorySegment content) throws IOException {
    try {
      channel.truncate(0);
      ByteBuffer bytes = content.asByteBuffer();
      while (bytes.hasRemaining()) {
        channel.write(bytes, bytes.position());
      }
    } catch (NonWritableChannelException e) {
      throw new IOException("a cache file is not open for writing", e);
    }
  }

  /** Tells whoever opened the files of a compilation that it is not stored in them. */
  static void abandon(List<CacheFile> modelCache, List<CacheFile> dataCache, IOException cause) {
    Stream.concat(modelCache.stream(), dataCache.stream())
        .findFirst()
        .ifPresent(file -> file.abandon(cause));
  }

  static void closeAll(List<CacheFile> files) {
    files.forEach(CacheFile::close);
  }
}
