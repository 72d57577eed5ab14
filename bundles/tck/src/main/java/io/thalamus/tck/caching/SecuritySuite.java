// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

/**
 * AOSP's five security tests of compilation caching, each for a number of seeds. Used by one
 * thread. Damages copies: a compiler of several stages may write the originals once more.
 */
final class SecuritySuite {
  private static final int SEEDS = 10;
  private static final int MOST_APPENDED = 256;
  private static final Set<ErrorStatus> FAILURE = Set.of(ErrorStatus.GENERAL_FAILURE);

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
    Optional<String> run(Random random) throws Exception;
  }

  private Check each(String name, Seeded body) {
    return new Check(
        name,
        () -> {
          for (long at = seed; at < seed + SEEDS; at++) {
            Optional<String> fault = body.run(new Random(at));
            if (fault.isPresent()) {
              return Optional.of("seed " + at + ": " + fault.get());
            }
          }
          return Optional.empty();
        });
  }

  private CacheFiles copy() throws Exception {
    return suite.saved().copy(directory.resolve("damaged" + made++));
  }

  private CacheToken token() {
    return CachingSuite.token(sample.name());
  }

  private Optional<String> damaged(boolean isModel, boolean isFlipped, Random random)
      throws Exception {
    CacheFiles files = copy();
    boolean isDamaged = true;
    for (Path file : isModel ? files.modelFiles() : files.dataFiles()) {
      if (isFlipped) {
        isDamaged &= CacheFiles.flip(file, random.nextLong());
      } else {
        byte[] more = new byte[1 + random.nextInt(MOST_APPENDED)];
        random.nextBytes(more);
        CacheFiles.append(file, more);
      }
    }
    if (!isModel) {
      return files.with(token(), config -> survives(config));
    }
    // A file without a single bit cannot be damaged in one.
    return isDamaged ? files.with(token(), suite.refused(FAILURE)) : Optional.empty();
  }

  /** Data may be wrong, and give wrong values, but no more than that. */
  private Optional<String> survives(io.thalamus.hal.PrepareConfig config) {
    try (PreparedModel restored = device.prepareFromCache(config)) {
      if (restored == null) {
        return Optional.of("null was restored");
      }
      sample.run(restored);
      return Optional.empty();
    } catch (DeviceException e) {
      return e.status() == ErrorStatus.GENERAL_FAILURE
          ? Optional.empty()
          : Optional.of("restoring was refused with " + e.status());
    }
  }

  private Optional<String> wrongToken(Random random) throws Exception {
    byte[] token = token().toArray();
    int bit = random.nextInt(8 * token.length);
    token[bit / 8] ^= (byte) (1 << bit % 8);
    return copy().with(CacheToken.of(token), suite.refused(FAILURE));
  }
}
