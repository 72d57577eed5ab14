// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.caching.CacheFiles.Odd;
import io.thalamus.tck.caching.KitFile.Access;
import io.thalamus.vectors.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * AOSP's eleven vendor tests of compilation caching, for one model and the chains of its type. Used
 * by one thread. Borrows device, models and directory.
 */
final class CachingSuite {
  /** AOSP's number of rounds in which files change between check and use. */
  static final int ATTACKS = 100;

  /** A compiler of several stages may end its work after the prepared model is closed. */
  private static final Duration HANDLES_LIMIT = Duration.ofSeconds(2);

  private static final Set<ErrorStatus> REFUSALS =
      Set.of(ErrorStatus.INVALID_ARGUMENT, ErrorStatus.GENERAL_FAILURE);

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
    List<Check> checks = new ArrayList<>();
    checks.add(new Check("CacheSavingAndRetrieval", () -> retrieval(0)));
    checks.add(new Check("CacheSavingAndRetrievalNonZeroOffset", () -> retrieval(1)));
    checks.add(new Check("SaveToCacheInvalidNumCache", this::savingToTheWrongNumber));
    checks.add(
        new Check("PrepareModelFromCacheInvalidNumCache", this::restoringFromTheWrongNumber));
    checks.add(new Check("SaveToCacheInvalidNumFd", () -> savingTo(Access.CLOSED)));
    checks.add(
        new Check(
            "PrepareModelFromCacheInvalidNumFd", () -> restoringFrom(Access.CLOSED, REFUSALS)));
    checks.add(new Check("SaveToCacheInvalidAccessMode", () -> savingTo(Access.READ_ONLY)));
    checks.add(
        new Check(
            "PrepareModelFromCacheInvalidAccessMode",
            () -> restoringFrom(Access.WRITE_ONLY, Set.of(ErrorStatus.GENERAL_FAILURE))));
    checks.add(new Check("HandlesAreClosed", this::handlesAreClosed));
    return checks;
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
    files.with(
        token(),
        config -> {
          device.prepare(sample.model(), config).close();
          return null;
        });
    return files;
  }

  /** A prepare that cannot store must compute all the same. */
  private CacheFiles.Call<Optional<String>> preparing() {
    return config -> {
      try (PreparedModel prepared = device.prepare(sample.model(), config)) {
        return right(prepared, "prepared");
      }
    };
  }

  private Optional<String> right(PreparedModel prepared, String what) {
    return Arrays.equals(expected, sample.run(prepared))
        ? Optional.empty()
        : Optional.of("the " + what + " model computes something else");
  }

  /** A fault unless restoring is refused with one of these. */
  CacheFiles.Call<Optional<String>> refused(Set<ErrorStatus> wanted) {
    return config -> {
      try (PreparedModel restored = device.prepareFromCache(config)) {
        return Optional.of("a model was restored, " + restored);
      } catch (DeviceException e) {
        return wanted.contains(e.status())
            ? Optional.empty()
            : Optional.of("restoring was refused with " + e.status() + ", not with " + wanted);
      }
    };
  }

  /** A fault unless restoring is refused, or gives the right model. */
  private CacheFiles.Call<Optional<String>> refusedOrRight() {
    return config -> {
      try (PreparedModel restored = device.prepareFromCache(config)) {
        return right(restored, "restored");
      } catch (DeviceException e) {
        return e.status() == ErrorStatus.GENERAL_FAILURE
            ? Optional.empty()
            : Optional.of("restoring was refused with " + e.status());
      }
    };
  }

  private Optional<String> retrieval(long offset) throws Exception {
    CacheFiles files = files();
    if (offset > 0) {
      for (Path file : files.modelFiles()) {
        Files.write(file, new byte[] {1, 2});
      }
      for (Path file : files.dataFiles()) {
        Files.write(file, new byte[] {1, 2});
      }
    }
    Optional<String> saving = files.at(token(), 2 * offset, preparing());
    return saving.isPresent()
        ? saving
        : files.at(
            token(),
            offset,
            config -> {
              try (PreparedModel restored = device.prepareFromCache(config)) {
                return right(restored, "restored");
              }
            });
  }

  private List<int[]> wrongNumbers() {
    List<int[]> numbers = new ArrayList<>(List.of(new int[] {1, 0}, new int[] {0, 1}));
    if (needs.modelCacheFiles() > 0) {
      numbers.add(new int[] {-1, 0});
    }
    if (needs.dataCacheFiles() > 0) {
      numbers.add(new int[] {0, -1});
    }
    return numbers;
  }

  private Optional<String> savingToTheWrongNumber() throws Exception {
    for (int[] more : wrongNumbers()) {
      CacheFiles files = files();
      Optional<String> fault =
          files
              .with(token(), more[0], more[1], preparing())
              .or(() -> quietly(() -> files.with(token(), more[0], more[1], refused(REFUSALS))));
      if (fault.isPresent()) {
        return fault;
      }
    }
    return Optional.empty();
  }

  private Optional<String> restoringFromTheWrongNumber() throws Exception {
    CacheFiles files = saved();
    for (int[] more : wrongNumbers()) {
      Optional<String> fault = files.with(token(), more[0], more[1], refused(REFUSALS));
      if (fault.isPresent()) {
        return fault;
      }
    }
    return Optional.empty();
  }

  /** Each file in turn. */
  private List<Odd> odds(Access access) {
    List<Odd> odds = new ArrayList<>();
    for (int i = 0; i < needs.modelCacheFiles(); i++) {
      odds.add(new Odd(true, i, access));
    }
    for (int i = 0; i < needs.dataCacheFiles(); i++) {
      odds.add(new Odd(false, i, access));
    }
    return odds;
  }

  private Optional<String> savingTo(Access access) throws Exception {
    for (Odd odd : odds(access)) {
      CacheFiles files = files();
      Optional<String> fault =
          files
              .with(token(), odd, preparing())
              .or(() -> quietly(() -> files.with(token(), odd, refused(REFUSALS))));
      if (fault.isPresent()) {
        return fault;
      }
    }
    return Optional.empty();
  }

  private Optional<String> restoringFrom(Access access, Set<ErrorStatus> wanted) throws Exception {
    CacheFiles files = saved();
    for (Odd odd : odds(access)) {
      Optional<String> fault = files.with(token(), odd, refused(wanted));
      if (fault.isPresent()) {
        return fault;
      }
    }
    return Optional.empty();
  }

  /** Not AOSP's: a driver that forgets its duplicates runs out of descriptors. */
  private Optional<String> handlesAreClosed() throws Exception {
    CacheFiles files = saved();
    files.with(
        token(),
        config -> {
          device.prepareFromCache(config).close();
          return null;
        });
    long end = System.nanoTime() + HANDLES_LIMIT.toNanos();
    while (files.openHandles() > 0 && System.nanoTime() < end) {
      Thread.sleep(1);
    }
    return files.openHandles() == 0
        ? Optional.empty()
        : Optional.of(
            files.openHandles() + " duplicated handles are open after the models were closed");
  }

  private static Optional<String> quietly(Check.Body body) {
    try {
      return body.run();
    } catch (Exception | Error e) {
      return Optional.of(Outcome.Failed.of(e).reason());
    }
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

  private Optional<String> whileOverwritten(Sample other, boolean saving, int attacks)
      throws Exception {
    List<byte[]> foreign = modelCache(other);
    for (int round = 0; round < attacks; round++) {
      CacheFiles files = saving ? files() : saved();
      Optional<String> fault;
      Overwriter overwriter = new Overwriter(files.modelFiles(), foreign);
      try {
        fault = saving ? files.with(token(), preparing()) : files.with(token(), refusedOrRight());
      } finally {
        overwriter.stop();
      }
      if (fault.isEmpty() && saving) {
        fault = files.with(token(), refusedOrRight());
      }
      if (fault.isPresent()) {
        return Optional.of("round " + round + ": " + fault.get());
      }
    }
    return Optional.empty();
  }

  private Optional<String> replaced(Sample other) throws Exception {
    List<byte[]> foreign = modelCache(other);
    CacheFiles copy = saved().copy(directory.resolve("copy" + made++));
    for (int i = 0; i < foreign.size(); i++) {
      Files.write(copy.modelFiles().get(i), foreign.get(i));
    }
    return copy.with(token(), refused(Set.of(ErrorStatus.GENERAL_FAILURE)));
  }
}
