// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationOptions;
import io.thalamus.model.CacheToken;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The choice of what leaves a directory that is full. */
class CacheQuotaTest {
  @TempDir Path directory;

  private final TestRuntime runtime =
      TestRuntime.of(CachingDevice.of("a", 1, 2), LimitedDevice.cpu());

  @AfterEach
  void close() {
    runtime.close();
  }

  /** Stores four compilations; returns them in the order of their last use. */
  private List<CacheDirectory.Listed> fill(CacheDirectory files) throws Exception {
    for (int user = 0; user < 4; user++) {
      byte[] token = new byte[CacheToken.SIZE];
      token[0] = (byte) user;
      CacheOptions caching = new CacheOptions(directory, CacheToken.of(token), "addThenMul");
      runtime
          .networks()
          .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.with(caching))
          .close();
    }
    List<CacheDirectory.Listed> all = files.list();
    assertEquals(4, all.size());
    return all;
  }

  @Test
  void theQuotaTakesWhatWasNotUsedForLongest() throws Exception {
    CacheDirectory files = runtime.cache.directory(directory);
    List<CacheDirectory.Listed> before = fill(files);
    for (CacheDirectory.Listed listed : before) {
      cost(listed, 1);
    }
    age(before);
    List<CacheDirectory.Listed> aged = files.list();
    assertEquals(names(before), names(aged));
    Path stranger = Files.write(directory.resolve("notes.txt"), new byte[1 << 12]);
    CacheEntry oldest = aged.getLast().entry();
    // In use: it must stay, and the next one goes instead.
    OpenEntry open = oldest.open(ended -> {}).orElseThrow();
    long two = aged.get(0).bytes() + aged.get(1).bytes() + aged.get(3).bytes();
    assertEquals(List.of(aged.get(2).entry().name()), names(files.collect(two)));
    open.close();
    assertEquals(
        List.of(oldest.name()), names(files.collect(aged.get(0).bytes() + aged.get(1).bytes())));
    assertEquals(2, files.list().size());
    assertTrue(Files.exists(stranger));
    assertEquals(List.of(), files.collect(Long.MAX_VALUE));
    assertEquals(2, files.collect(0).size());
    assertEquals(List.of(), files.list());
  }

  @Test
  void theQuotaSparesWhatTookLongToCompile() throws Exception {
    CacheDirectory files = runtime.cache.directory(directory);
    List<CacheDirectory.Listed> before = fill(files);
    // Idle for 1,000 to 4,000 s: the second is worth 1 ms / 2,000 s, the last 12 ms / 4,000 s.
    long[] millis = {4, 1, 2, 12};
    for (int i = 0; i < millis.length; i++) {
      cost(before.get(i), millis[i]);
    }
    age(before);
    List<CacheDirectory.Listed> aged = files.list();
    long total = aged.stream().mapToLong(CacheDirectory.Listed::bytes).sum();
    assertEquals(List.of(aged.get(1).entry().name()), names(files.collect(total - 1)));
    assertEquals(
        List.of(aged.get(2).entry().name()), names(files.collect(total - aged.get(1).bytes() - 1)));
    assertEquals(names(List.of(aged.get(0), aged.get(3))), names(files.list()));
  }

  /** Notes so many milliseconds for each byte. */
  private static void cost(CacheDirectory.Listed listed, long millis) throws IOException {
    CacheEntry entry = listed.entry();
    entry.writeNote(entry.readNote().costing(Duration.ofMillis(millis * listed.bytes())));
  }

  /** Makes the first of them 1,000 s old, the second 2,000 s, and so on. */
  private void age(List<CacheDirectory.Listed> listed) throws IOException {
    Instant now = Instant.now();
    for (int i = 0; i < listed.size(); i++) {
      for (String suffix : List.of("10", "20", "21", ".note")) {
        Files.setLastModifiedTime(
            directory.resolve(listed.get(i).entry().name() + suffix),
            FileTime.from(now.minusSeconds(1000L * (i + 1))));
      }
    }
  }

  private static List<String> names(List<CacheDirectory.Listed> entries) {
    return entries.stream().map(listed -> listed.entry().name()).toList();
  }
}
