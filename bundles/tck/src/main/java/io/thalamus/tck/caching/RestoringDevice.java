// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A device that stores each model, closes it, and gives the one that it restores: so every test of
 * results is one of caching, too. Thread-safe. Borrows the device within and the directory.
 */
final class RestoringDevice extends DelegatingDevice {
  private final Path directory;
  private final AtomicInteger made = new AtomicInteger();

  RestoringDevice(Device within, Path directory) {
    super(within);
    this.directory = directory;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    int number = made.incrementAndGet();
    // One for each model: a token stands for one model.
    CacheToken token = CachingSuite.token("restoring " + number);
    // What is asked of this prepare is asked of restoring.
    PrepareConfig stored = config.with(Deadline.NONE);
    try {
      CacheFiles files =
          new CacheFiles(directory.resolve("restoring" + number), info().cacheNeeds());
      return files.with(
          token,
          cached -> {
            delegate().prepare(model, stored.with(cached.cache().orElseThrow())).close();
            return delegate().prepareFromCache(config.with(cached.cache().orElseThrow()));
          });
    } catch (DeviceException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the kit failed: " + e, e);
    }
  }
}
