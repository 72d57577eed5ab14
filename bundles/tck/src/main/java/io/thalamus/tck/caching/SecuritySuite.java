// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;

/**
 * AOSP's five security tests of compilation caching, each for a number of seeds. Used by one
 * thread. Damages copies: a compiler of several stages may write the originals once more.
 */
final class SecuritySuite {
  private static final int SEEDS = 10;
  private static final int MOST_APPENDED = 256;

  private final Device device;
  private final CachingSuite suite;
  private final Sample sample;
  private final Path directory;
  private final long seed;
  private int made;

  SecuritySuite(Device device, CachingSuite suite, Sample sample, Path directory, long seed) {
    this.device = device;
    this.suite = suite;
    this.sample = sample;
    this.directory = directory;
    this.seed = seed;
  }

  List<Check> checks() {
    return List.of(
        each("CorruptedModelCache", random -> damaged(true, true, random)),
        each("WrongLengthModelCache", random -> damaged(true, false, random)),
        each("CorruptedDataCache", random -> damaged(false, true, random)),
        each("WrongLengthDataCache", random -> damaged(false, false, random)),
        each("WrongToken", this::wrongToken));
  }

  /** A test with a seed. */
  @FunctionalInterface
  private interface Seeded {
    void run(Random random) throws Exception;
  }

  private Check each(String name, Seeded body) {
    return new Check(
        name,
        () -> {
          for (long at = seed; at < seed + SEEDS; at++) {
            Random random = new Random(at);
            Expect.at("seed " + at, () -> body.run(random));
          }
        });
  }

  private CacheFiles copy() throws Exception {
    return suite.saved().copy(directory.resolve("damaged" + made++));
  }

  private CacheToken token() {
    return CachingSuite.token(sample.name());
  }

  private void damaged(boolean isModel, boolean isFlipped, Random random) throws Exception {
    CacheFiles files = copy();
    boolean isDamaged = true;
    for (Path file : isModel ? files.modelFiles() : files.dataFiles()) {
      if (isFlipped) {
        isDamaged &= CacheFiles.flip(file, random.nextLong());
      } else {
        byte[] more = new byte[1 + random.nextInt(MOST_APPENDED)];
        random.nextBytes(more);
        Files.write(file, more, StandardOpenOption.APPEND);
      }
    }
    if (!isModel) {
      files.use(token(), this::survives);
    } else if (isDamaged) { // a file without a single bit cannot be damaged in one
      files.use(token(), suite.refused(ErrorStatus.GENERAL_FAILURE));
    }
  }

  /** Data may be wrong, and give wrong values, but no more than that. */
  private void survives(PrepareConfig config) {
    try (PreparedModel restored = device.prepareFromCache(config)) {
      Expect.that(restored != null, "null was restored");
      sample.run(restored);
    } catch (DeviceException e) {
      Expect.status("restoring", e.status(), ErrorStatus.GENERAL_FAILURE);
    }
  }

  private void wrongToken(Random random) throws Exception {
    byte[] token = token().toArray();
    int bit = random.nextInt(8 * token.length);
    token[bit / 8] ^= (byte) (1 << bit % 8);
    copy().use(CacheToken.of(token), suite.refused(ErrorStatus.GENERAL_FAILURE));
  }
}
