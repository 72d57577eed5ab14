// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.CacheToken;
import io.thalamus.model.wire.Encoder;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * The cache files that a remote device has open. The device works on copies, which come back when a
 * prepare returns, and again when the device closes its last handle: a process that ends in the
 * middle of writing leaves the cache as it was. Thread-safe; owned by whoever started the process.
 */
public final class CacheTransfers implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(CacheTransfers.class.getPackageName());

  /** A file that was not touched since it was copied has this time. */
  private static final FileTime UNTOUCHED = FileTime.fromMillis(0);

  private final Path folder;
  private static final long SETTLE_NANOS = 500_000_000;
  private static final long PAUSE_NANOS = 2_000_000;

  private final AtomicInteger lateReturns = new AtomicInteger();
  private final AtomicInteger last = new AtomicInteger();
  private final Map<Integer, Transfer> open = new ConcurrentHashMap<>();

  /** Transfers by way of this folder, which both processes can write. */
  public CacheTransfers(Path folder) {
    this.folder = folder;
  }

  /** The files of one call. Used by its thread, which closes them when it ends. */
  final class Opened implements AutoCloseable {
    private final Optional<PrepareConfig.Cache> cache;
    private final List<Transfer> modelFiles;
    private final List<Transfer> dataFiles;
    private boolean isStored;

    private Opened(Optional<PrepareConfig.Cache> cache) {
      this.cache = cache;
      this.modelFiles = transfers(cache.map(PrepareConfig.Cache::modelCache).orElse(List.of()));
      this.dataFiles = transfers(cache.map(PrepareConfig.Cache::dataCache).orElse(List.of()));
    }

    private List<Transfer> transfers(List<CacheFile> files) {
      List<Transfer> transfers = new ArrayList<>();
      for (CacheFile file : files) {
        Transfer transfer = new Transfer(last.incrementAndGet(), file, cache.orElseThrow().token());
        open.put(transfer.id, transfer);
        transfer.copyThere();
        transfers.add(transfer);
      }
      return transfers;
    }

    void write(Encoder out) {
      out.optional(
          cache,
          (to, files) -> {
            to.list(modelFiles, CacheTransfers::write);
            to.list(dataFiles, CacheTransfers::write);
            to.bytes(files.token().toArray());
          });
    }

    /** Brings back what the device has written so far, and lets it write on. */
    void store() {
      modelFiles.forEach(Transfer::returned);
      dataFiles.forEach(Transfer::returned);
      isStored = true;
    }

    /** Ends the transfers, unless the call has succeeded. */
    @Override
    public void close() {
      if (!isStored) {
        modelFiles.forEach(Transfer::end);
        dataFiles.forEach(Transfer::end);
      }
    }
  }

  Opened open(Optional<PrepareConfig.Cache> cache) {
    return new Opened(cache);
  }

  private static void write(Encoder out, Transfer transfer) {
    out.int32(transfer.id).text(transfer.copy.toString()).bool(transfer.isWritable);
  }

  /** Returns how many files came back after the call that they were given to. */
  int lateReturns() {
    return lateReturns.get();
  }

  /**
   * Waits a little until the device has closed the files of a compilation.
   *
   * @param before {@link #lateReturns} at some time
   * @return whether files have come back since then
   */
  boolean settle(Optional<PrepareConfig.Cache> cache, int before) {
    CacheToken token = cache.map(PrepareConfig.Cache::token).orElse(null);
    long start = System.nanoTime();
    while (open.values().stream().anyMatch(transfer -> transfer.token.equals(token))
        && System.nanoTime() - start < SETTLE_NANOS) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    return lateReturns() != before;
  }

  /** The device has closed its last handle of a file; an unknown one is ignored. */
  public void closed(int id) {
    Transfer transfer = open.get(id);
    if (transfer != null) {
      transfer.closedThere();
    }
  }

  /** The device does not store its compilation in a file; an unknown one is ignored. */
  public void abandoned(int id, String cause) {
    Transfer transfer = open.get(id);
    if (transfer != null) {
      transfer.abandoned(new IOException(cause));
    }
  }

  /** Ends all transfers, as when the process has ended. */
  @Override
  public void close() {
    open.values().forEach(Transfer::end);
  }

  /** One file. Thread-safe. */
  private final class Transfer {
    private final int id;
    private final CacheToken token;
    private final Path copy;

    /** Of the caller first, and after the call a duplicate that belongs to this. */
    private CacheFile original;

    private boolean isOwned;
    private boolean isWritable = true;
    private boolean isEnded;

    Transfer(int id, CacheFile original, CacheToken token) {
      this.token = token;
      this.id = id;
      this.copy = folder.resolve("cache-" + id);
      this.original = original;
    }

    /** Copies the contents there; a file that cannot be read is empty for the device. */
    synchronized void copyThere() {
      try {
        NamedFiles.create(copy).close();
        FileChannel from = original.channel();
        try (FileChannel to = FileChannel.open(copy, StandardOpenOption.WRITE)) {
          transfer(from, to);
        }
        isWritable = isWritable(from);
        Files.setLastModifiedTime(copy, UNTOUCHED);
      } catch (NonReadableChannelException | IOException e) {
        LOG.log(Level.DEBUG, "a cache file cannot be read: {0}", e.getMessage());
      }
    }

    private static boolean isWritable(FileChannel channel) throws IOException {
      try {
        channel.truncate(channel.size());
        return true;
      } catch (NonWritableChannelException e) {
        return false;
      }
    }

    private static void transfer(FileChannel from, FileChannel to) throws IOException {
      long size = from.size();
      for (long at = 0; at < size; ) {
        long count = from.transferTo(at, size - at, to.position(at));
        if (count <= 0) {
          throw new IOException("a cache file got shorter while it was read");
        }
        at += count;
      }
      to.truncate(size);
    }

    private synchronized void copyBack() {
      try {
        if (Files.exists(copy) && !Files.getLastModifiedTime(copy).equals(UNTOUCHED)) {
          Files.setLastModifiedTime(copy, UNTOUCHED);
          try (FileChannel from = FileChannel.open(copy, StandardOpenOption.READ)) {
            FileChannel to = original.channel();
            if (!to.isOpen()) {
              throw new ClosedChannelException();
            }
            transfer(from, to);
          }
        }
      } catch (NonWritableChannelException e) {
        abandoned(new IOException("the cache file cannot be written", e));
      } catch (IOException e) {
        abandoned(e);
      }
    }

    /** The call is over; the caller closes its handle. */
    synchronized void returned() {
      if (isEnded) {
        return;
      }
      copyBack();
      try {
        original = original.duplicate();
        isOwned = true;
      } catch (IOException e) {
        abandoned(e);
        end();
      }
    }

    synchronized void closedThere() {
      if (!isEnded) {
        copyBack();
        if (isOwned) {
          lateReturns.incrementAndGet();
        }
        end();
      }
    }

    synchronized void abandoned(IOException cause) {
      if (!isEnded) {
        original.abandon(cause);
      }
    }

    synchronized void end() {
      if (isEnded) {
        return;
      }
      isEnded = true;
      open.remove(id);
      if (isOwned) {
        original.close();
      }
      deleteCopy();
    }

    private void deleteCopy() {
      try {
        Files.deleteIfExists(copy);
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "a copy stays until its folder goes: {0}", e.getMessage());
      }
    }
  }
}
