// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The open files of one entry, lent to a device for one call. Thread-safe; in use until the last
 * file is closed, the duplicates that the device took included.
 *
 * <p>An entry that is written excludes all others until the call is over, that is, until the files
 * that were lent are closed. From then on a device may still write through duplicates, while others
 * read: its own check decides then whether what they see is whole.
 */
final class OpenEntry {
  private final CacheToken token;
  private final EntryLocks.Use use;
  private final Keeper keeper;
  private final List<CacheFile> model = new ArrayList<>();
  private final List<CacheFile> data = new ArrayList<>();
  private final Set<OpenFile> open = new HashSet<>();
  private int lent;
  private boolean abandoned;
  private boolean ended;

  /** The opener of an entry. Called in any thread, holding no lock. */
  @FunctionalInterface
  interface Keeper {
    /** The last file is closed. Called once. */
    void ended(OpenEntry entry);

    /** The device stores nothing. */
    default void abandoned(OpenEntry entry, IOException cause) {
      // Not of interest when nothing is to be stored.
    }
  }

  /** An entry without files yet, which owns a use. */
  OpenEntry(CacheToken token, EntryLocks.Use use, Keeper keeper) {
    this.token = token;
    this.use = use;
    this.keeper = keeper;
  }

  /** Opens one more of its files. */
  synchronized void add(Path path, boolean isModel, Set<OpenOption> options) throws IOException {
    OpenFile file = new OpenFile(path, FileChannel.open(path, options, ownerOnly(path)), true);
    (isModel ? model : data).add(file);
  }

  private static FileAttribute<?>[] ownerOnly(Path path) {
    return path.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }

  /** Returns whether the device said that it stores nothing. */
  synchronized boolean isAbandoned() {
    return abandoned;
  }

  private void abandon(IOException cause) {
    synchronized (this) {
      abandoned = true;
    }
    keeper.abandoned(this, cause);
  }

  /** Returns the files as the device gets them. */
  Cache lend() {
    return new Cache(model, data, token);
  }

  /** Closes all files, duplicates included, even while the device uses them. */
  void close() {
    List<OpenFile> all;
    synchronized (this) {
      all = List.copyOf(open);
    }
    all.forEach(OpenFile::close);
    endIfUnused();
  }

  private void closed(OpenFile file) {
    boolean isCallOver;
    synchronized (this) {
      open.remove(file);
      if (file.isLent) {
        lent--;
      }
      isCallOver = file.isLent && lent == 0 && !open.isEmpty();
    }
    if (isCallOver) {
      try {
        use.share();
      } catch (IOException e) {
        StepCache.log().log(
            Level.DEBUG, "a cache entry stays locked until it is closed: {0}", e.toString());
      }
    }
    endIfUnused();
  }

  private void endIfUnused() {
    synchronized (this) {
      if (ended || !open.isEmpty()) {
        return;
      }
      ended = true;
    }
    try {
      use.close();
    } catch (IOException e) {
      StepCache.log().log(
          Level.DEBUG, "a lock of a cache entry was not given back: {0}", e.toString());
    }
    keeper.ended(this);
  }

  /** An open file. A duplicate is opened anew: Java cannot duplicate a channel. */
  private final class OpenFile implements CacheFile {
    private final Path path;
    private final FileChannel channel;
    private final boolean isLent;

    OpenFile(Path path, FileChannel channel, boolean isLent) {
      this.path = path;
      this.channel = channel;
      this.isLent = isLent;
      synchronized (OpenEntry.this) {
        open.add(this);
        if (isLent) {
          lent++;
        }
      }
    }

    @Override
    public FileChannel channel() {
      return channel;
    }

    @Override
    public CacheFile duplicate() throws IOException {
      synchronized (OpenEntry.this) {
        if (!open.contains(this)) {
          throw new ClosedChannelException();
        }
        return new OpenFile(
            path, FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE), false);
      }
    }

    @Override
    public void abandon(IOException cause) {
      OpenEntry.this.abandon(cause);
    }

    @Override
    public void close() {
      synchronized (OpenEntry.this) {
        if (!open.contains(this)) {
          return;
        }
      }
      try {
        channel.close();
      } catch (IOException e) {
        StepCache.log().log(Level.DEBUG, "a cache file was not closed in order: {0}", e.toString());
      }
      closed(this);
    }
  }
}
