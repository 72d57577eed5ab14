// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.runtime.registry.DeviceCalls.Terms;
import io.thalamus.runtime.registry.GuardedCall.End;
import io.thalamus.runtime.registry.GuardedCall.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;

/** How models come to be prepared on one device. Thread-safe. */
final class DevicePreparations {
  private final RegisteredDevice device;
  private final Occupancy occupancy;
  private volatile long longestNanos;

  DevicePreparations(RegisteredDevice device, Occupancy occupancy) {
    this.device = device;
    this.occupancy = occupancy;
  }

  /** See {@link RegisteredDevice#prepare(Model, PrepareConfig)}. */
  DevicePreparedModel prepare(Model model, PrepareConfig config, boolean isProbe)
      throws DeviceException {
    return call(
        "prepare",
        config,
        isProbe,
        (entered, controlled) -> preparation(entered, model, controlled));
  }

  /** See {@link RegisteredDevice#prepareFromCache}. */
  DevicePreparedModel prepareFromCache(Model model, PrepareConfig config) throws DeviceException {
    return call(
        "prepareFromCache",
        config,
        false,
        (entered, controlled) -> restoration(entered, model, controlled));
  }

  private DevicePreparedModel call(
      String name,
      PrepareConfig config,
      boolean isProbe,
      BiFunction<Device, PrepareConfig, Preparation> preparing)
      throws DeviceException {
    Device entered = device.enter(isProbe);
    if (entered == null) {
      closeFiles(config);
      throw new DeviceException(
          ErrorStatus.DEVICE_UNAVAILABLE,
          device.id() + ": " + device.absence().orElse("it has left"));
    }
    Function<ExecutionControl, Preparation> work =
        control -> {
          try {
            return preparing.apply(entered, config.with(control));
          } finally {
            closeFiles(config);
          }
        };
    if (!device.isWatched()) {
      return device.here(work, config.control()).orThrow();
    }
    Duration limit = device.limit(longestNanos, device.settings().prepareFloor());
    ExecutionControl stop =
        () ->
            config.deadline().hasPassed()
                ? ExecutionControl.Signal.DEADLINE
                : config.control().checkpoint();
    Outcome<Preparation> outcome =
        device.make(new Terms(name, limit, stop), work, Preparation::close);
    if (outcome.end() == End.NONE) {
      return outcome.answer().orThrow();
    }
    if (outcome.end() == End.NO_THREAD) {
      closeFiles(config);
    }
    throw new DeviceException(
        RegisteredDevice.status(outcome.end()),
        device.id() + ": " + RegisteredDevice.describe(outcome.end(), limit));
  }

  private static void closeFiles(PrepareConfig config) {
    if (config.cache().isPresent()) {
      config.cache().get().modelCache().forEach(CacheFile::close);
      config.cache().get().dataCache().forEach(CacheFile::close);
    }
  }

  /** What a device made of a model, one of them null. */
  private record Preparation(DevicePreparedModel model, DeviceException failure) {
    DevicePreparedModel orThrow() throws DeviceException {
      if (failure != null) {
        throw failure;
      }
      return model;
    }

    void close() {
      if (model != null) {
        model.close();
      }
    }
  }

  /** Has the device, which was entered, prepare. */
  private Preparation preparation(Device entered, Model model, PrepareConfig config) {
    List<SharedMemory.Lease> leases = new ArrayList<>();
    try {
      model.pools().forEach(pool -> leases.add(pool.lend()));
      long start = device.time().nanoTime();
      PreparedModel answer = entered.prepare(model, config);
      if (answer == null) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, device.id() + " prepared nothing");
      }
      longestNanos = Math.max(longestNanos, device.time().nanoTime() - start);
      return adopt(new DevicePreparedModel(device, answer, model));
    } catch (DeviceException e) {
      // A device that ends because it is told to does nothing wrong.
      if (config.control().checkpoint() == ExecutionControl.Signal.CONTINUE
          && device.reads(model.pools())) {
        device.failed(e.status(), e.getMessage());
      }
      return new Preparation(null, e);
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      device.failed(ErrorStatus.GENERAL_FAILURE, "it broke: " + e);
      return new Preparation(
          null, new DeviceException(ErrorStatus.GENERAL_FAILURE, device.id() + " broke: " + e, e));
    } finally {
      leases.forEach(SharedMemory.Lease::close);
    }
  }

  /** Has the device, which was entered, restore. */
  private Preparation restoration(Device entered, Model model, PrepareConfig config) {
    try {
      PreparedModel answer = entered.prepareFromCache(config);
      if (answer == null) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, device.id() + " restored nothing");
      }
      return adopt(new DevicePreparedModel(device, answer, model));
    } catch (DeviceException e) {
      return new Preparation(null, e);
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      device.failed(ErrorStatus.GENERAL_FAILURE, "it broke: " + e);
      return new Preparation(
          null, new DeviceException(ErrorStatus.GENERAL_FAILURE, device.id() + " broke: " + e, e));
    }
  }

  private Preparation adopt(DevicePreparedModel handle) {
    if (occupancy.adopt(handle)) {
      return new Preparation(handle, null);
    }
    handle.close();
    return new Preparation(
        null, new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, device.id() + " left meanwhile"));
  }
}
