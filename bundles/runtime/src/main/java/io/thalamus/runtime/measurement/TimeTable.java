// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.cache.BlobLimits;
import io.thalamus.cache.BlobStore;
import io.thalamus.cache.CacheEngine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The stored times of devices, which processes share: a blob of the caching engine for each device,
 * whose key is the device's name and version, since another version has other kernels. Thread-safe.
 *
 * <p>A blob is text with a line for each time: subject, nanoseconds, when, separated by tabs. The
 * engine vouches that nobody else has written it.
 */
final class TimeTable {
  /** The oldest times of a device go if there are more. */
  static final int MOST = 5_000;

  /** Many more than {@link #MOST} lines have. */
  private static final int MAX_BLOB_BYTES = 1 << 20;

  private static final int MAX_TOTAL_BYTES = 8 * MAX_BLOB_BYTES;
  private static final BlobLimits LIMITS =
      BlobLimits.of(1 << 10, MAX_BLOB_BYTES, MAX_TOTAL_BYTES)
          .with(BlobLimits.Select.LRU, BlobLimits.Capacity.FIT);

  private final CacheEngine engine;
  private final BlobStore blobs;

  /**
   * The times that an engine keeps.
   *
   * @param machine what the times hold for; those of another are not seen
   */
  TimeTable(CacheEngine engine, String machine) {
    this.engine = engine;
    this.blobs = engine.blobs("times 1 " + machine, LIMITS);
  }

  /** Returns whether an engine keeps these times. */
  boolean isKeptBy(CacheEngine other) {
    return engine == other;
  }

  /** Returns the stored times of a device by their subjects; none if nothing is stored. */
  Map<String, MeasuredTime> read(String device) {
    Map<String, MeasuredTime> times = new HashMap<>();
    blobs
        .get(key(device))
        .ifPresent(
            blob ->
                new String(blob, StandardCharsets.UTF_8)
                    .lines()
                    .map(line -> line.split("\t"))
                    .forEach(
                        fields ->
                            times.put(
                                fields[0],
                                new MeasuredTime(
                                    Double.parseDouble(fields[1]), Long.parseLong(fields[2])))));
    return times;
  }

  /**
   * Adds times of a device. Of two of one subject the later one stays.
   *
   * @return all that is stored of the device now
   * @throws IOException if the storage cannot be written
   */
  Map<String, MeasuredTime> merge(String device, Map<String, MeasuredTime> own) throws IOException {
    try (CacheEngine.Hold _ = engine.hold()) {
      Map<String, MeasuredTime> all = read(device);
      own.forEach((what, time) -> all.merge(what, time, (a, b) -> b.seen() >= a.seen() ? b : a));
      if (all.size() > MOST) {
        List<String> oldestFirst = new ArrayList<>(all.keySet());
        oldestFirst.sort(Comparator.comparingLong(what -> all.get(what).seen()));
        all.keySet().removeAll(Set.copyOf(oldestFirst.subList(0, all.size() - MOST)));
      }
      StringBuilder text = new StringBuilder();
      all.forEach(
          (what, time) ->
              text.append(what)
                  .append('\t')
                  .append((float) time.nanos())
                  .append('\t')
                  .append(time.seen())
                  .append('\n'));
      blobs.set(key(device), text.toString().getBytes(StandardCharsets.UTF_8));
      return all;
    }
  }

  private static byte[] key(String device) {
    return device.getBytes(StandardCharsets.UTF_8);
  }
}
