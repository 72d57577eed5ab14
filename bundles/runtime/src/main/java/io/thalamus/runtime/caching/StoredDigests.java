// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.cache.BlobLimits;
import io.thalamus.cache.BlobStore;
import io.thalamus.cache.CacheEngine;
import io.thalamus.memory.files.Digests;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;

/**
 * Digests of bundles for the next process: reading all that they contain takes one that has just
 * begun longer than the compilation that it looks for. Thread-safe.
 *
 * <p>They are those of bundles that the framework reads out of a file where it stands. The file is
 * known by its number, size and time of change, which no program sets, and has not changed for a
 * while when the process begins; the bundle, by the time of its last update, after which it may be
 * read from elsewhere.
 */
final class StoredDigests {
  private static final int MOST = 256;
  private static final int SIZE = 32;
  private static final String REFERENCE = "reference:";

  /** Clocks by which a process began, and by which a file changed, may differ by less. */
  private static final Duration QUIET = Duration.ofMinutes(1);

  static final byte[] NAME = "bundles".getBytes(StandardCharsets.UTF_8);
  private static final int MAX_TOTAL_BYTES = 8 << 20;

  private final Supplier<CacheEngine> engine;
  private final String storage;
  private final Supplier<Instant> begin;
  private Map<ByteBuffer, byte[]> known;

  /**
   * Those that an engine keeps.
   *
   * @param engine gives null if there is none now
   * @param storage of the framework, in which a bundle's number and time of update are its own
   * @param begin gives that of this process, which takes milliseconds
   */
  StoredDigests(Supplier<CacheEngine> engine, String storage, Supplier<Instant> begin) {
    this.engine = engine;
    this.storage = storage;
    this.begin = begin;
  }

  static BlobStore blobs(CacheEngine engine) {
    return engine.blobs(
        "digests 1",
        BlobLimits.of(NAME.length, 2 * SIZE * MOST, MAX_TOTAL_BYTES)
            .with(BlobLimits.Select.LRU, BlobLimits.Capacity.FIT));
  }

  /** Returns what the contents of a bundle are known by; empty if they cannot be. */
  Optional<ByteBuffer> stamp(Bundle bundle) {
    String location = bundle.getLocation();
    if (engine.get() == null || !location.startsWith(REFERENCE)) {
      return Optional.empty();
    }
    try {
      Path file = Path.of(URI.create(location.substring(REFERENCE.length())));
      Map<String, Object> facts =
          Files.readAttributes(file, "unix:isRegularFile,dev,ino,size,ctime");
      FileTime changed = (FileTime) facts.get("ctime");
      if (!(boolean) facts.get("isRegularFile")
          || !changed.toInstant().isBefore(begin.get().minus(QUIET))) {
        return Optional.empty();
      }
      String text =
          "%s %s %s %s %s %s %s %s"
              .formatted(
                  storage,
                  bundle.getBundleId(),
                  bundle.getLastModified(),
                  file,
                  facts.get("dev"),
                  facts.get("ino"),
                  facts.get("size"),
                  changed);
      return Optional.of(ByteBuffer.wrap(Digests.sha256(text)));
    } catch (IOException
        | IllegalArgumentException
        | FileSystemNotFoundException
        | UnsupportedOperationException e) {
      // A file that is no file here, or a system that does not number files: it is read.
      return Optional.empty();
    }
  }

  synchronized Optional<byte[]> get(ByteBuffer stamp) {
    if (known == null) {
      known = read();
    }
    return Optional.ofNullable(known.get(stamp));
  }

  /** Keeps digests beside those that other processes kept; the oldest make room. */
  synchronized void add(Map<ByteBuffer, byte[]> fresh) {
    LinkedHashMap<ByteBuffer, byte[]> all = read();
    fresh.forEach(all::putLast);
    List<Map.Entry<ByteBuffer, byte[]>> entries = new ArrayList<>(all.entrySet());
    entries = entries.subList(Math.max(0, entries.size() - MOST), entries.size());
    ByteBuffer blob = ByteBuffer.allocate(2 * SIZE * entries.size());
    entries.forEach(entry -> blob.put(entry.getKey().duplicate()).put(entry.getValue()));
    CacheEngine present = engine.get();
    if (present != null) {
      blobs(present).set(NAME, blob.array());
    }
    known = all;
  }

  private LinkedHashMap<ByteBuffer, byte[]> read() {
    LinkedHashMap<ByteBuffer, byte[]> entries = new LinkedHashMap<>();
    CacheEngine present = engine.get();
    if (present == null) {
      return entries;
    }
    ByteBuffer blob = ByteBuffer.wrap(blobs(present).get(NAME).orElse(new byte[0]));
    while (blob.remaining() >= 2 * SIZE) {
      byte[] stamp = new byte[SIZE];
      byte[] digest = new byte[SIZE];
      blob.get(stamp).get(digest);
      entries.put(ByteBuffer.wrap(stamp), digest);
    }
    return entries;
  }
}
