// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperandCode;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.TemporaryFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The tests of compilation caching that suit a device: of every operand type for which it takes the
 * models. Used by one thread. Owns a temporary directory and the models until it is closed.
 */
public final class CachingTests implements AutoCloseable {
  private static final int CHAIN_SUM = 101;

  private final Device device;
  private final long seed;
  private final int attacks;
  private final List<Samples> held = new ArrayList<>();
  private final TemporaryFolder folder;
  private final Path directory;

  /**
   * Tests for a device.
   *
   * @param seed of the damage that is done
   */
  public CachingTests(Device device, long seed) throws IOException {
    this(device, seed, CachingSuite.ATTACKS);
  }

  /**
   * Tests for a device.
   *
   * @param seed of the damage that is done
   * @param attacks how often files are overwritten while the device writes or reads them
   */
  public CachingTests(Device device, long seed, int attacks) throws IOException {
    this.device = Objects.requireNonNull(device, "device");
    this.seed = seed;
    this.attacks = attacks;
    this.folder = TemporaryFolder.create();
    this.directory = folder.path();
  }

  /** All tests, for each operand type of which the device takes the models. */
  public List<Check> checks() throws IOException, DeviceException {
    List<Check> checks = new ArrayList<>();
    for (OperandCode type : Samples.TYPES) {
      Samples samples = new Samples(type);
      held.add(samples);
      Sample layers = samples.layers();
      if (layers.isSupportedBy(device)) {
        Path own = Files.createDirectory(directory.resolve("layers" + type));
        CachingSuite suite = new CachingSuite(device, own, layers);
        add(checks, type, suite.checks());
        add(checks, type, new SecuritySuite(device, suite, layers, own, seed).checks());
      }
      Sample additions = samples.additions();
      Sample multiplications = samples.multiplications();
      if (additions.isSupportedBy(device) && multiplications.isSupportedBy(device)) {
        Path own = Files.createDirectory(directory.resolve("chains" + type));
        CachingSuite suite = new CachingSuite(device, own, additions);
        add(
            checks,
            type,
            List.of(new Check("chain", () -> chain(samples, additions, multiplications))));
        add(checks, type, suite.replacements(multiplications, attacks));
      }
    }
    return checks;
  }

  private static void add(List<Check> checks, OperandCode type, List<Check> more) {
    more.forEach(check -> checks.add(new Check(check.name() + " " + type, check.body())));
  }

  /** The chains give what AOSP says, so that the later tests distinguish them. */
  private void chain(Samples samples, Sample additions, Sample multiplications)
      throws DeviceException {
    Expect.that(
        Arrays.equals(samples.number(CHAIN_SUM), additions.expected(device))
            && Arrays.equals(samples.number(1), multiplications.expected(device)),
        "100 additions of 1 to 1 do not give 101, or 100 products of 1 not 1");
  }

  /** Of a device that does not cache: restoring is refused, in the right way. */
  public Check unclaimed() {
    PrepareConfig config =
        PrepareConfig.DEFAULT.with(
            new Cache(List.of(), List.of(), CachingSuite.token("unclaimed")));
    return new Check(
        "unclaimed",
        () ->
            Expect.refused(
                "restoring by a device that does not claim to cache",
                () -> device.prepareFromCache(config).close(),
                ErrorStatus.GENERAL_FAILURE));
  }

  /** A device that gives restored models in place of prepared ones. */
  public Device restoring() {
    return new RestoringDevice(device, directory);
  }

  @Override
  public void close() throws IOException {
    held.forEach(Samples::close);
    folder.close();
  }

  /** Returns whether a device claims to cache. */
  public static boolean isClaimed(Device device) {
    return device.info().cacheNeeds().isCachingSupported();
  }
}
