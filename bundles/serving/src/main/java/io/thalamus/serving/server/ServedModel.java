// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** The versions of a model. Thread-safe; only one update at a time. */
final class ServedModel {
  private static final System.Logger LOG = System.getLogger(ServedModel.class.getPackageName());

  /** So many updates do not fall into the choice of one version. */
  private static final int MOST_UPDATES = 100;

  /** A version that keeps failing is tried this many times less often than at first. */
  private static final int SLOWEST_RETRY = 32;

  /** Reads, compiles and warms a file. */
  @FunctionalInterface
  interface Loader {
    LoadedVersion load(String model, Path file) throws NeuralNetworksException, ServingException;
  }

  private final String name;
  private final int limit;
  private final Duration firstRetry;
  private final Loader loader;
  private final Announcer announcer;
  private final ConcurrentNavigableMap<Long, Version> versions = new ConcurrentSkipListMap<>();
  private volatile boolean isUnloaded;

  // Of updates alone.
  private final Map<Long, Looks> looks = new HashMap<>();

  /** The file of one version as updates saw it, and their attempts to load it. */
  private static final class Looks {
    FileStamp seen;
    FileStamp tried;
    boolean hasFailed;
    int failures;
    long retryNanos;

    boolean isDue(FileStamp now, boolean isForced) {
      boolean isStable = isForced || now.equals(seen);
      seen = now;
      if (now.equals(tried)) {
        return hasFailed && (isForced || System.nanoTime() - retryNanos >= 0);
      }
      failures = 0;
      return isStable;
    }
  }

  /**
   * A model without versions yet.
   *
   * @param limit how many of the newest versions are served; 0 for all
   */
  ServedModel(String name, int limit, Duration firstRetry, Loader loader, Announcer announcer) {
    this.name = name;
    this.limit = limit;
    this.firstRetry = firstRetry;
    this.loader = loader;
    this.announcer = announcer;
  }

  /** Returns true if a version answers. */
  boolean isReady() {
    return versions.values().stream().anyMatch(Version::isReady);
  }

  /** Returns true until somebody unloads it. */
  boolean isWanted() {
    return !isUnloaded;
  }

  List<IndexEntry> index() {
    return versions.values().stream().map(Version::entry).toList();
  }

  List<Version> versions() {
    return List.copyOf(versions.values());
  }

  /** Returns the numbers of the versions that answer, ascending. */
  List<String> ready() {
    return versions.values().stream().filter(Version::isReady).map(Version::number).toList();
  }

  /**
   * Returns a version.
   *
   * @param number empty for the newest one that is ready
   * @throws ServingException with NOT_FOUND, or with UNAVAILABLE if no version is ready
   */
  Version version(Optional<String> number) throws ServingException {
    if (number.isPresent()) {
      return versions.values().stream()
          .filter(each -> each.number().equals(number.get()))
          .findFirst()
          .orElseThrow(
              () ->
                  new ServingException(
                      Failure.NOT_FOUND,
                      "model '%s' has no version '%s': it has %s"
                          .formatted(name, number.get(), versions.keySet())));
    }
    Version newest;
    do {
      newest = null;
      for (Version each : versions.descendingMap().values()) {
        if (each.isReady()) {
          return each;
        }
        newest = newest == null ? each : newest;
      }
      // An update meanwhile made one ready that had been passed, and retired the other.
    } while (!ready().isEmpty());
    if (newest == null) {
      throw ServingException.soon(Failure.UNAVAILABLE, "model '" + name + "' is not loaded yet");
    }
    throw newest.unavailable();
  }

  /** A version, and what serves it, used by one more: whoever has it releases that. */
  record Use(Version version, LoadedVersion loaded) {}

  /**
   * Returns a version that serves. If an update retires the newest one between its choice and its
   * use, the next one is chosen.
   *
   * @param number empty for the newest one that is ready
   * @throws ServingException with NOT_FOUND, or with UNAVAILABLE if no version is ready
   */
  Use acquire(Optional<String> number) throws ServingException {
    return acquire(version(number), number);
  }

  /** Does the same beginning with a version that was chosen before. */
  Use acquire(Version first, Optional<String> number) throws ServingException {
    Version chosen = first;
    Optional<LoadedVersion> loaded = chosen.acquire();
    for (int i = 0; loaded.isEmpty() && number.isEmpty() && i < MOST_UPDATES; i++) {
      chosen = version(number);
      loaded = chosen.acquire();
    }
    return new Use(chosen, loaded.orElseThrow(chosen::unavailable));
  }

  /**
   * Brings the versions into line with the files.
   *
   * @param isForced whether to read files that nobody saw twice, too
   */
  synchronized void update(NavigableMap<Long, FileStamp> files, boolean isForced) {
    int ready = 0;
    long newest = 0;
    for (Map.Entry<Long, FileStamp> file : files.descendingMap().entrySet()) {
      long number = file.getKey();
      Version version = versions.get(number);
      if (version == null) {
        version = new Version(name, String.valueOf(number), announcer);
        versions.put(number, version);
      }
      if (isUnloaded) {
        drop(number, "it was unloaded");
      } else if (limit > 0 && ready >= limit) {
        drop(number, "version " + newest + " is served in its place");
      } else {
        Looks seen = looks.computeIfAbsent(number, key -> new Looks());
        if (seen.isDue(file.getValue(), isForced)) {
          load(version, file.getValue(), seen);
        }
        if (version.isReady()) {
          ready++;
          newest = newest == 0 ? number : newest;
        }
      }
    }
    for (long number : versions.keySet()) {
      if (!files.containsKey(number)) {
        drop(number, "its file is gone");
        versions.remove(number);
      }
    }
  }

  private void drop(long number, String why) {
    looks.remove(number);
    versions.get(number).retire(why);
  }

  private void load(Version version, FileStamp file, Looks seen) {
    version.loading();
    LoadedVersion next = null;
    String failure;
    try {
      next = loader.load(name, file.path());
      FileStamp after = FileStamp.of(file.path());
      if (after.equals(file)) {
        seen.tried = file;
        seen.hasFailed = false;
        version.replace(next);
        LOG.log(
            Level.INFO,
            "model ''{0}'' version {1} is ready, with digest {2}",
            name,
            version.number(),
            next.digest());
        next = null;
        return;
      }
      seen.seen = after;
      failure = "it changed while it was read";
    } catch (NeuralNetworksException | ServingException e) {
      seen.tried = file;
      failure = Codes.oneLine(e.getMessage());
    } catch (IOException e) {
      failure = "it cannot be read: " + e;
    } finally {
      if (next != null) {
        next.release();
      }
    }
    long delay = firstRetry.toNanos() * Math.min(1L << Math.min(seen.failures, 30), SLOWEST_RETRY);
    seen.hasFailed = true;
    seen.failures++;
    seen.retryNanos = System.nanoTime() + delay;
    // Clients see it: where the folder is does not concern them.
    String why = file.path().getFileName() + ": " + failure.replace(file.path() + ": ", "");
    if (version.failed(why)) {
      LOG.log(Level.WARNING, "model ''{0}'' version {1} failed: {2}", name, version.number(), why);
    }
  }

  /** Returns why a version does not serve what its file holds; empty if it does. */
  String reason(long number) {
    Version version = versions.get(number);
    return version == null ? "its file is gone" : version.entry().reason();
  }

  /** Loads it from now on. */
  void want() {
    isUnloaded = false;
  }

  /** Serves nothing from now on, and loads nothing until it is wanted again. */
  synchronized void unload(String why) {
    isUnloaded = true;
    for (long number : versions.keySet()) {
      drop(number, why);
    }
  }
}
