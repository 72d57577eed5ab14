// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.tck.caching.CacheFiles.Way;
import io.thalamus.tck.caching.KitFile.Access;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * AOSP's eleven vendor tests of compilation caching, for one model and the chains of its type. Used
 * by one thread. Borrows device, models and directory.
 */
final class CachingSuite {
  /** AOSP's number of rounds in which files change between check and use. */
  static final int ATTACKS = 100;

  /** A compiler of several stages may end its work after the prepared model is closed. */
  private static final Duration HANDLES_LIMIT = Duration.ofSeconds(2);

  private static final ErrorStatus[] REFUSALS = {
    ErrorStatus.INVALID_ARGUMENT, ErrorStatus.GENERAL_FAILURE
  };

  private final Device device;
  private final CacheNeeds needs;
  private final Path directory;
  private final Sample sample;
  private final byte[] expected;
  private int made;

  CachingSuite(Device device, Path directory, Sample sample) throws DeviceException {
    this.device = device;
    this.needs = device.info().cacheNeeds();
    this.directory = directory;
    this.sample = sample;
    this.expected = sample.expected(device);
  }

  /** The token of a model: the same in each run, so that runs leave few of them behind. */
  static CacheToken token(String name) {
    return CacheToken.of(Digests.sha256(name));
  }

  /** The tests of the model alone. */
  List<Check> checks() {
    return List.of(
        new Check("CacheSavingAndRetrieval", () -> retrieval(0)),
        new Check("CacheSavingAndRetrievalNonZeroOffset", () -> retrieval(1)),
        new Check("SaveToCacheInvalidNumCache", () -> savingTo(wrongNumbers())),
        new Check(
            "PrepareModelFromCacheInvalidNumCache", () -> restoringFrom(wrongNumbers(), REFUSALS)),
        new Check("SaveToCacheInvalidNumFd", () -> savingTo(opened(Access.CLOSED))),
        new Check(
            "PrepareModelFromCacheInvalidNumFd",
            () -> restoringFrom(opened(Access.CLOSED), REFUSALS)),
        new Check("SaveToCacheInvalidAccessMode", () -> savingTo(opened(Access.READ_ONLY))),
        new Check(
            "PrepareModelFromCacheInvalidAccessMode",
            () -> restoringFrom(opened(Access.WRITE_ONLY), ErrorStatus.GENERAL_FAILURE)),
        new Check("HandlesAreClosed", this::handlesAreClosed),
        new Check("OtherPriority", this::otherPriority));
  }

  /** The tests that put one model's cache in the place of another's. */
  List<Check> replacements(Sample other, int attacks) {
    return List.of(
        new Check("SaveToCache_TOCTOU", () -> whileOverwritten(other, true, attacks)),
        new Check("PrepareFromCache_TOCTOU", () -> whileOverwritten(other, false, attacks)),
        new Check("ReplaceSecuritySensitiveCache", () -> replaced(other)));
  }

  private CacheFiles files() throws IOException {
    return new CacheFiles(directory.resolve("files" + made++), needs);
  }

  private CacheToken token() {
    return token(sample.name());
  }

  /** Stores the model. */
  CacheFiles saved() throws Exception {
    CacheFiles files = files();
    files.use(token(), config -> device.prepare(sample.model(), config).close());
    return files;
  }

  /** Expects that a prepare computes, even where it cannot store. */
  private void prepare(PrepareConfig config) throws DeviceException {
    try (PreparedModel prepared = device.prepare(sample.model(), config)) {
      expectRight(prepared, "prepared");
    }
  }

  private void restore(PrepareConfig config) throws DeviceException {
    try (PreparedModel restored = device.prepareFromCache(config)) {
      expectRight(restored, "restored");
    }
  }

  private void expectRight(PreparedModel prepared, String what) {
    Expect.equal(expected, sample.run(prepared), "the " + what + " model computes something else");
  }

  /** A call that expects that restoring is refused with one of these. */
  CacheFiles.Use refused(ErrorStatus... wanted) {
    return config ->
        Expect.refused("restoring", () -> device.prepareFromCache(config).close(), wanted);
  }

  /** Expects that restoring is refused, or gives the right model. */
  private void restoreIfWhole(PrepareConfig config) {
    try {
      restore(config);
    } catch (DeviceException e) {
      Expect.status("restoring", e.status(), ErrorStatus.GENERAL_FAILURE);
    }
  }

  private void retrieval(long offset) throws Exception {
    CacheFiles files = files();
    if (offset > 0) {
      for (Path file : files.all()) {
        Files.write(file, new byte[] {1, 2});
      }
    }
    files.use(token(), Way.at(2 * offset), this::prepare);
    files.use(token(), Way.at(offset), this::restore);
  }

  /** One file more or less than the device asked for. */
  private List<Way> wrongNumbers() {
    List<Way> numbers = new ArrayList<>(List.of(Way.more(1, 0), Way.more(0, 1)));
    if (needs.modelCacheFiles() > 0) {
      numbers.add(Way.more(-1, 0));
    }
    if (needs.dataCacheFiles() > 0) {
      numbers.add(Way.more(0, -1));
    }
    return numbers;
  }

  /** Each file in turn opened so. */
  private List<Way> opened(Access access) {
    return IntStream.range(0, needs.modelCacheFiles() + needs.dataCacheFiles())
        .mapToObj(file -> Way.opened(file, access))
        .toList();
  }

  private void savingTo(List<Way> ways) throws Exception {
    for (Way way : ways) {
      CacheFiles files = files();
      files.use(token(), way, this::prepare);
      files.use(token(), way, refused(REFUSALS));
    }
  }

  private void restoringFrom(List<Way> ways, ErrorStatus... wanted) throws Exception {
    CacheFiles files = saved();
    for (Way way : ways) {
      files.use(token(), way, refused(wanted));
    }
  }

  /** Not AOSP's, whose token distinguishes priorities: what is stored for one serves all. */
  private void otherPriority() throws Exception {
    if (!device.info().cacheSharedByPriorities()) {
      return;
    }
    for (Priority stored : Priority.values()) {
      CacheFiles files = files();
      files.use(token(), config -> prepare(config.with(stored)));
      for (Priority wanted : Priority.values()) {
        Expect.at(
            stored + " restored for " + wanted,
            () -> files.use(token(), config -> restore(config.with(wanted))));
      }
    }
  }

  /** Not AOSP's: a driver that forgets its duplicates runs out of descriptors. */
  private void handlesAreClosed() throws Exception {
    CacheFiles files = saved();
    files.use(token(), config -> device.prepareFromCache(config).close());
    long end = System.nanoTime() + HANDLES_LIMIT.toNanos();
    while (files.openHandles() > 0 && System.nanoTime() < end) {
      Thread.sleep(1);
    }
    Expect.that(
        files.openHandles() == 0,
        files.openHandles() + " duplicated handles are open after the models were closed");
  }

  /** Returns what the other model's cache holds. */
  private List<byte[]> modelCache(Sample other) throws Exception {
    List<byte[]> contents = new ArrayList<>();
    for (Path file :
        new CachingSuite(device, directory.resolve("other" + made++), other).saved().modelFiles()) {
      contents.add(Files.readAllBytes(file));
    }
    return contents;
  }

  private void whileOverwritten(Sample other, boolean saving, int attacks) throws Exception {
    List<byte[]> foreign = modelCache(other);
    for (int round = 0; round < attacks; round++) {
      CacheFiles files = saving ? files() : saved();
      Expect.at(
          "round " + round,
          () -> {
            try (Overwriter _ = new Overwriter(files.modelFiles(), foreign)) {
              files.use(token(), saving ? this::prepare : this::restoreIfWhole);
            }
            if (saving) {
              files.use(token(), this::restoreIfWhole);
            }
          });
    }
  }

  private void replaced(Sample other) throws Exception {
    List<byte[]> foreign = modelCache(other);
    CacheFiles copy = saved().copy(directory.resolve("copy" + made++));
    for (int i = 0; i < foreign.size(); i++) {
      Files.write(copy.modelFiles().get(i), foreign.get(i));
    }
    copy.use(token(), refused(ErrorStatus.GENERAL_FAILURE));
  }
}
