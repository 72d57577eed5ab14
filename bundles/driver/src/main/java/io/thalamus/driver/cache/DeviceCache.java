// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.cache.CacheEngine;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Stores the compilations of a device in the files that the runtime gives, and takes them back.
 * Thread-safe. Borrows the engine, which must outlive all calls.
 *
 * <p>Model caches are code, so nothing of a file is looked at before all of it is in memory that
 * nobody else can write, and the engine remembers it for this token. Data caches count with them: a
 * damaged one is refused, where it would else give wrong values.
 */
public final class DeviceCache {
  private final DeviceInfo info;
  private final CacheEngine engine;
  private final long maxFileBytes;

  /**
   * The cache of a device.
   *
   * @param maxFileBytes that one file may have: a longer one is not the device's
   */
  public DeviceCache(DeviceInfo info, CacheEngine engine, long maxFileBytes) {
    this.info = Objects.requireNonNull(info, "info");
    this.engine = Objects.requireNonNull(engine, "engine");
    this.maxFileBytes = maxFileBytes;
  }

  /**
   * Takes handles of the files that a prepare is to be stored in; the caller closes them. Empty if
   * it is not to be stored, or cannot be: that never fails a prepare, and the opener of the files
   * gets the reason.
   */
  public Optional<CacheWriter> open(PrepareConfig config) {
    if (config.cache().isEmpty() || isNone(config.cache().get())) {
      return Optional.empty();
    }
    Cache cache = config.cache().get();
    Optional<String> fault =
        CacheHandles.countFault(cache, info.cacheNeeds()).or(() -> CacheHandles.fault(cache));
    if (fault.isPresent()) {
      CacheHandles.abandon(cache.modelCache(), cache.dataCache(), new IOException(fault.get()));
      log().log(Level.DEBUG, "{0} does not cache a compilation: {1}", info.name(), fault.get());
      return Optional.empty();
    }
    List<CacheFile> modelCache = new ArrayList<>();
    List<CacheFile> dataCache = new ArrayList<>();
    try {
      for (CacheFile file : cache.modelCache()) {
        modelCache.add(file.duplicate());
      }
      for (CacheFile file : cache.dataCache()) {
        dataCache.add(file.duplicate());
      }
    } catch (IOException e) {
      CacheHandles.closeAll(modelCache);
      CacheHandles.closeAll(dataCache);
      CacheHandles.abandon(cache.modelCache(), cache.dataCache(), e);
      log()
          .log(
              Level.DEBUG,
              "{0} does not cache a compilation: a handle cannot be duplicated: {1}",
              info.name(),
              e.toString());
      return Optional.empty();
    }
    return Optional.of(new CacheWriter(engine, writer(), cache.token(), modelCache, dataCache));
  }

  /** Returns the name for the engine: an update begins without anything of an earlier version. */
  private String writer() {
    return info.name() + " " + info.version();
  }

  /** As in NNAPI, a token without files says nothing. */
  private static boolean isNone(Cache cache) {
    return cache.modelCache().isEmpty() && cache.dataCache().isEmpty();
  }

  /**
   * Returns the bytes that the device stored under the token of a prepare, all of them.
   *
   * @throws DeviceException with INVALID_ARGUMENT where there are not as many files as the device
   *     stores a compilation in, GENERAL_FAILURE where they do not hold what it stored,
   *     MISSED_DEADLINE_TRANSIENT where others hold the lock of the cache until the deadline
   */
  public CacheContents read(PrepareConfig config) throws DeviceException {
    return read(config, Arena.ofAuto());
  }

  /**
   * Returns the bytes that the device stored, as {@link #read(PrepareConfig)} does, those of data
   * caches in memory of the device's choice.
   *
   * @param memory outside the heap, at any multiple of 64 that is asked for; freed by its owner,
   *     also where the contents are refused
   */
  public CacheContents read(PrepareConfig config, SegmentAllocator memory) throws DeviceException {
    Cache cache =
        config
            .cache()
            .orElseThrow(
                () ->
                    new DeviceException(
                        ErrorStatus.INVALID_ARGUMENT, "there is no cache to restore from"));
    Optional<String> count = CacheHandles.countFault(cache, info.cacheNeeds());
    if (count.isPresent()) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, count.get());
    }
    Optional<String> fault = CacheHandles.fault(cache);
    if (fault.isPresent()) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, fault.get());
    }
    CacheContents contents;
    try (CacheEngine.Hold _ = engine.hold(config.deadline())) {
      contents =
          new CacheContents(
              read(cache.modelCache(), Arena.ofAuto()).stream()
                  .map(file -> file.toArray(ValueLayout.JAVA_BYTE))
                  .toList(),
              read(cache.dataCache(), memory));
    } catch (IOException e) {
      if (config.deadline().hasPassed()) {
        throw new DeviceException(
            ErrorStatus.MISSED_DEADLINE_TRANSIENT,
            "the deadline passed while the cache was read: " + e.getMessage(),
            e);
      }
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "the cache cannot be read: " + e.getMessage(), e);
    }
    if (engine.isRemembered(writer(), cache.token(), contents.files())) {
      return contents;
    }
    throw new DeviceException(
        ErrorStatus.GENERAL_FAILURE,
        "the cache files do not hold what %s %s stored under this token: they were changed, or another version has written them"
            .formatted(info.name(), info.version()));
  }

  private List<MemorySegment> read(List<CacheFile> files, SegmentAllocator memory)
      throws IOException {
    List<MemorySegment> contents = new ArrayList<>();
    for (CacheFile file : files) {
      contents.add(CacheHandles.read(file.channel(), maxFileBytes, memory));
    }
    return contents;
  }

  /** Returns the log of the package, which costs time to find: only where something is said. */
  static System.Logger log() {
    return System.getLogger(DeviceCache.class.getPackageName());
  }
}
