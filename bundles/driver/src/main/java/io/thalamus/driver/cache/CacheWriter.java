// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.cache.CacheEngine;
import io.thalamus.hal.CacheFile;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The files that one compilation is stored in, through handles of its own: a compiler of several
 * stages writes each of them, the last one long after the prepare has returned. Used by one thread
 * at a time; owned by whoever opened it.
 */
public final class CacheWriter implements AutoCloseable {
  private final CacheEngine engine;
  private final String device;
  private final CacheToken token;
  private final List<CacheFile> modelCache;
  private final List<CacheFile> dataCache;

  CacheWriter(
      CacheEngine engine,
      String device,
      CacheToken token,
      List<CacheFile> modelCache,
      List<CacheFile> dataCache) {
    this.engine = engine;
    this.device = device;
    this.token = token;
    this.modelCache = List.copyOf(modelCache);
    this.dataCache = List.copyOf(dataCache);
  }

  /** Stores a compilation of a later stage, for which nobody waits. */
  public boolean write(CacheContents contents) {
    return write(contents, Deadline.NONE);
  }

  /**
   * Stores a compilation in place of an earlier one. Readers find the earlier one, or this one, or,
   * when the process is killed meanwhile or the disk is full, none.
   *
   * @param deadline of the prepare that waits for it: it waits no longer for other writers
   * @return whether it is stored; if not, the opener of the files gets the reason
   */
  public boolean write(CacheContents contents, Deadline deadline) {
    if (contents.modelCache().size() != modelCache.size()
        || contents.dataCache().size() != dataCache.size()) {
      throw new IllegalArgumentException(device + " stores a compilation in other files");
    }
    try {
      // Others wait for the lock no longer than for the files.
      store(contents, engine.code(contents.files()), deadline);
      return true;
    } catch (IOException e) {
      DeviceCache.log().log(
          Level.DEBUG, "{0} cannot cache a compilation: {1}", device, e.toString());
      CacheHandles.abandon(modelCache, dataCache, e);
      return false;
    }
  }

  private void store(CacheContents contents, byte[] code, Deadline deadline) throws IOException {
    try (CacheEngine.Hold _ = engine.hold(deadline)) {
      boolean isStored = false;
      try {
        write(modelCache, contents.modelCache().stream().map(MemorySegment::ofArray).toList());
        write(dataCache, contents.dataCache());
        // This last: until then the files belong to nothing that anybody believes.
        engine.remember(device, token, code);
        isStored = true;
      } finally {
        if (!isStored) {
          empty(modelCache);
          empty(dataCache);
        }
      }
    }
  }

  /** Gives back the room of a part that nobody will believe. */
  private static void empty(List<CacheFile> files) {
    for (CacheFile file : files) {
      try {
        file.channel().truncate(0);
      } catch (IOException e) {
        DeviceCache.log().log(
            Level.DEBUG, "what is left of a compilation stays: {0}", e.toString());
      }
    }
  }

  private static void write(List<CacheFile> files, List<MemorySegment> contents)
      throws IOException {
    for (int i = 0; i < files.size(); i++) {
      CacheHandles.write(files.get(i).channel(), contents.get(i));
    }
  }

  @Override
  public void close() {
    CacheHandles.closeAll(modelCache);
    CacheHandles.closeAll(dataCache);
  }
}
