// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.cache.CacheEngine;
import io.thalamus.driver.cache.CacheWriter;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.driver.cache.DeviceCache;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.Deadline;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.npu.command.CommandFormatException;
import io.thalamus.npu.command.ExecutableFormat;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Optional;

/**
 * Compiled models in cache files. Thread-safe. A program is restored only where version and
 * settings of the device are those that it was compiled with.
 *
 * <p>A process may end before its search does, and leaves the first program in the cache. That one
 * counts as good for an hour, which is longer than any search takes; then it is stale, so that the
 * model is compiled anew in the background, and a search gets another chance.
 */
final class ProgramCache {
  /** The time that a first program in the cache may wait for its successor. */
  static final Duration PATIENCE = Duration.ofHours(1);

  /** A file that is longer was not written by this device. */
  private static final long MAX_FILE_BYTES = 1L << 28;

  private final DeviceCache cache;
  private final byte[] settings;
  private final InstantSource clock;

  ProgramCache(DeviceInfo info, NpuConfig config, CacheEngine engine, InstantSource clock) {
    this.cache = new DeviceCache(info, engine, MAX_FILE_BYTES);
    this.settings = Digests.sha256(info.version() + '\0' + config.fingerprint());
    this.clock = clock;
  }

  /** Returns the place of the programs of one model, which the caller closes; empty for nowhere. */
  Optional<Slot> open(Model model, NpuPreparedModel prepared, PrepareConfig config) {
    if (!CachedArguments.isPossible(model.main())) {
      return Optional.empty();
    }
    return cache.open(config).map(writer -> new Slot(writer, prepared, config));
  }

  /** The files of one model. Used by one thread at a time. */
  final class Slot implements AutoCloseable {
    private final CacheWriter writer;
    private final NpuPreparedModel prepared;
    private final PrepareConfig config;

    private Slot(CacheWriter writer, NpuPreparedModel prepared, PrepareConfig config) {
      this.writer = writer;
      this.prepared = prepared;
      this.config = config;
    }

    /**
     * Stores a program.
     *
     * @param isFinal whether no better one is to come
     * @param deadline of the prepare that waits for it
     */
    void store(Program program, boolean isFinal, Deadline deadline) {
      writer.write(
          new CachedProgram(
                  prepared.arguments(),
                  prepared.outputShapes(),
                  config.preference(),
                  isFinal,
                  clock.instant(),
                  settings,
                  ExecutableFormat.write(program.machine().executable()))
              .write(),
          deadline);
    }

    @Override
    public void close() {
      writer.close();
    }
  }

  /**
   * The program that was stored under a token.
   *
   * @throws DeviceException where there is none that can be used
   */
  CachedProgram restore(PrepareConfig config) throws DeviceException {
    CachedProgram cached;
    try {
      cached = CachedProgram.read(cache.read(config));
    } catch (CommandFormatException e) {
      throw refused(e.getMessage(), e);
    }
    if (!Arrays.equals(cached.settings(), settings)) {
      throw refused("the cache was made by another version, or under other settings", null);
    }
    return cached;
  }

  /** Returns the reason why a stored program is worth compiling anew, if there is one. */
  Optional<String> staleness(CachedProgram cached) {
    Instant oldest = clock.instant().minus(PATIENCE);
    return !cached.isFinal() && cached.made().isBefore(oldest)
        ? Optional.of("it is a first program that no search has bettered since")
        : Optional.empty();
  }

  private static DeviceException refused(String reason, Exception cause) {
    return new DeviceException(ErrorStatus.GENERAL_FAILURE, reason, cause);
  }
}
