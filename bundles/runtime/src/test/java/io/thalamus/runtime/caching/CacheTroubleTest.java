// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.api.CompilationOptions;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceType;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Directories in which nothing can be kept: told once, and forgotten when that is over. */
class CacheTroubleTest {
  /** Has room for nothing, whoever writes. */
  private static final Path FULL = Path.of("/dev/full");

  private static final String NO_ROOM = "No space left on device";

  @TempDir Path parent;

  private final CachingDevice device = CachingDevice.of("a", 1, 0);
  private final TestRuntime runtime = TestRuntime.of(device, LimitedDevice.cpu());
  private final CompilationCache view = runtime.storedCompilations();
  private final Warnings warnings = new Warnings();
  // Kept here, since the log manager does not.
  private final Logger logger = Logger.getLogger(StepCache.class.getPackageName());

  /** The warnings of this test: others run beside it, with directories of their own. */
  private final class Warnings extends Handler {
    private final Queue<String> told = new ConcurrentLinkedQueue<>();

    @Override
    public void publish(LogRecord log) {
      if (log.getLevel() == Level.WARNING
          && log.getParameters() != null
          && log.getParameters()[0].toString().startsWith(parent.toString())) {
        told.add(log.getParameters()[1].toString());
      }
    }

    @Override
    public void flush() {
      // Nothing is held back.
    }

    @Override
    public void close() {
      // Nothing is open.
    }

    List<String> told() {
      return List.copyOf(told);
    }
  }

  @BeforeEach
  void listen() {
    logger.addHandler(warnings);
  }

  @AfterEach
  void closeAll() {
    logger.removeHandler(warnings);
    runtime.close();
    assertEquals(0, device.open(), "prepared models left open");
  }

  /** Compiles, computes, and closes: that must work whatever becomes of the files. */
  private Origin compile(TestRuntime on, Path where, int user) throws Exception {
    byte[] token = new byte[CacheToken.SIZE];
    token[0] = (byte) user;
    CompilationOptions options =
        CompilationOptions.DEFAULT.with(
            new CacheOptions(where, CacheToken.of(token), "addThenMul"));
    try (Compilation compilation = on.networks().compile(Graphs.addThenMul(), options)) {
      float[] result = new float[4];
      assertTrue(Graphs.addThenMulExecution(compilation, result).compute().isSuccess());
      assertArrayEquals(Graphs.addThenMulResult(), result);
      return compilation.caching().getFirst().origin();
    }
  }

  private Origin compile(Path where, int user) throws Exception {
    return compile(runtime, where, user);
  }

  private static List<Path> files(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.filter(file -> !file.getFileName().toString().equals("locks")).sorted().toList();
    }
  }

  private List<String> troubles(Path directory) {
    return view.troubles().stream()
        .filter(trouble -> trouble.directory().equals(directory))
        .map(Trouble::cause)
        .toList();
  }

  /** The names of the cache files of some tokens. */
  private List<Path> names(int users) throws Exception {
    Path elsewhere = parent.resolve("elsewhere");
    List<Path> names = new ArrayList<>();
    for (int user = 0; user < users; user++) {
      assertEquals(Origin.STORED, compile(elsewhere, user));
      for (Path file : files(elsewhere)) {
        Path name = file.getFileName();
        if (name.toString().endsWith("10") && !names.contains(name)) {
          names.add(name);
        }
      }
    }
    assertEquals(users, names.size());
    return names;
  }

  @Test
  void aFullDiskIsToldOnceUntilThereIsRoomAgain() throws Exception {
    assumeTrue(Files.exists(FULL), "no file that is full");
    List<Path> names = names(5);
    Path full = Files.createDirectory(parent.resolve("full"));
    for (int user : List.of(0, 1, 2)) {
      Files.createSymbolicLink(full.resolve(names.get(user)), FULL);
    }
    for (int user = 0; user < 3; user++) {
      assertEquals(Origin.NOT_STORED, compile(full, user));
    }
    assertEquals(List.of(NO_ROOM), warnings.told());
    assertEquals(List.of(NO_ROOM), troubles(full));
    assertEquals(List.of(), troubles(parent.resolve("elsewhere")));
    // Another directory's luck is its own.
    assertEquals(Origin.STORED, compile(parent.resolve("elsewhere"), 9));
    assertEquals(List.of(NO_ROOM), troubles(full));
    // What could not be stored leaves nothing behind that takes room or a name.
    assertEquals(List.of(), files(full));

    assertEquals(Origin.STORED, compile(full, 0));
    assertEquals(List.of(), troubles(full));
    assertEquals(Origin.RESTORED, compile(full, 0));
    Files.createSymbolicLink(full.resolve(names.get(4)), FULL);
    assertEquals(Origin.NOT_STORED, compile(full, 4));
    // It was said a moment ago.
    assertEquals(List.of(NO_ROOM), warnings.told());
    assertEquals(List.of(NO_ROOM), troubles(full));
    // What is restored says nothing of room.
    assertEquals(Origin.RESTORED, compile(full, 0));
    assertEquals(List.of(NO_ROOM), troubles(full));
  }

  @Test
  void aDirectoryThatCannotBeMadeIsToldOnceUntilItCan() throws Exception {
    Path file = Files.createFile(parent.resolve("file"));
    Path below = file.resolve("below");
    for (int user = 0; user < 3; user++) {
      assertEquals(Origin.NOT_STORED, compile(below, user));
    }
    assertEquals(1, warnings.told().size(), warnings::toString);
    assertEquals(warnings.told(), troubles(below));
    assertEquals("a file stands in the place of a directory", view.obstacle(below).orElseThrow());
    Files.delete(file);
    assertTrue(view.obstacle(below).isEmpty());
    assertFalse(Files.exists(file), "a question makes no directory");
    assertEquals(Origin.STORED, compile(below, 0));
    assertTrue(view.obstacle(below).isEmpty());
    assertEquals(List.of(), view.troubles());
    assertEquals(2, files(below).size(), "a question leaves no file");
  }

  @Test
  void aDirectoryWhereNoneCanBeMadeIsNotAMissingFile() throws Exception {
    assumeTrue(Files.exists(Path.of("/proc/self")), "no file system without directories of users");
    Path nowhere = Path.of("/proc/nowhere");
    assertEquals(Origin.NOT_STORED, compile(nowhere, 0));
    assertEquals(List.of("it cannot be created there"), troubles(nowhere));
  }

  @Test
  void eachCauseIsToldOnce() throws Exception {
    Path cache = parent.resolve("cache");
    String storage = parent.resolve("storage/npu").toString();
    for (int i = 0; i < 3; i++) {
      IOException[] causes = {
        new IOException("a"),
        new IOException("b"),
        // The names of files that pass are not told: each would be another cause.
        new FileSystemException(storage + "/tokens." + i, null, "Read-only file system"),
      };
      for (IOException cause : causes) {
        device.on((call, files) -> files.modelCache().getFirst().abandon(cause));
        assertEquals(Origin.NOT_STORED, compile(cache, 0));
        Files.delete(files(cache).getFirst());
      }
    }
    List<String> told = List.of("a", "b", "Read-only file system (in " + storage + ")");
    assertEquals(told, warnings.told());
    assertEquals(told, troubles(cache));
    device.on((call, files) -> {});
    assertEquals(Origin.STORED, compile(cache, 0));
    assertEquals(List.of(), troubles(cache));
  }

  @Test
  void causesWithoutEndPushEachOtherOut() throws Exception {
    Path cache = parent.resolve("cache");
    for (int i = 0; i < 30; i++) {
      IOException cause = new IOException("cause " + i);
      device.on((call, files) -> files.modelCache().getFirst().abandon(cause));
      compile(cache, i);
    }
    assertTrue(troubles(cache).size() < 10, () -> troubles(cache).toString());
    assertEquals("cause 29", troubles(cache).getLast());
  }

  @Test
  void whatComesBackIsSaidAgainAfterAWhile() {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    CacheProblems troubles = new CacheProblems(now::get);
    assertEquals(System.Logger.Level.WARNING, troubles.add(parent, "a"));
    assertEquals(System.Logger.Level.WARNING, troubles.add(parent, "b"));
    for (int minutes = 1; minutes < 60; minutes++) {
      now.set(Instant.EPOCH.plus(Duration.ofMinutes(minutes)));
      assertEquals(System.Logger.Level.DEBUG, troubles.add(parent, "a"));
      troubles.over(parent);
      assertEquals(List.of(), troubles.all());
    }
    now.set(Instant.EPOCH.plus(Duration.ofMinutes(61)));
    assertEquals(System.Logger.Level.WARNING, troubles.add(parent, "a"));
    assertEquals(List.of(new Trouble(parent, "a", now.get())), troubles.all());
    now.set(Instant.EPOCH.plus(Duration.ofMinutes(200)));
    assertEquals(System.Logger.Level.DEBUG, troubles.add(parent, "a"), "it was never over");
  }

  /** Of a process that ended in the middle. */
  @Test
  void emptyFilesAreNoEntryAndGoWithTheNextCollection() throws Exception {
    Path name = names(1).getFirst();
    Path cache = Files.createDirectory(parent.resolve("cache"));
    Files.createFile(cache.resolve(name));
    assertEquals(List.of(), view.entries(cache));
    assertEquals(List.of(), view.collect(cache, Long.MAX_VALUE));
    assertEquals(List.of(), files(cache));
  }

  /** As NNAPI's drivers may: whatever they think not worth storing. */
  @Test
  void aDeviceThatStoresNothingLeavesNoFilesAndNoTrouble() throws Exception {
    LimitedDevice lazy =
        new LimitedDevice(
            LimitedDevice.info("test-lazy", DeviceType.ACCELERATOR, 0.5)
                .cacheNeeds(new CacheNeeds(2, 1))
                .build(),
            (graph, operation) -> true);
    Path cache = parent.resolve("cache");
    try (TestRuntime other = TestRuntime.of(lazy, LimitedDevice.cpu())) {
      for (int i = 0; i < 2; i++) {
        assertEquals(Origin.NOT_STORED, compile(other, cache, 0));
        assertEquals(List.of(), files(cache));
      }
      assertEquals(List.of(), other.storedCompilations().troubles());
    }
    assertEquals(List.of(), warnings.told());
  }
}
