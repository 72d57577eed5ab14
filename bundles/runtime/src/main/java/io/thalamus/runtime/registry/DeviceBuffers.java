// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.registry.DeviceCalls.Terms;
import io.thalamus.runtime.registry.GuardedCall.End;
import io.thalamus.runtime.registry.GuardedCall.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** The calls of a device that concern its buffers. Thread-safe; a part of the device. */
final class DeviceBuffers {
  private final RegisteredDevice device;
  private final Occupancy occupancy;
  private volatile boolean doesNotCopy;

  DeviceBuffers(RegisteredDevice device, Occupancy occupancy) {
    this.device = device;
    this.occupancy = occupancy;
  }

  /** Allocates a buffer; see {@link RegisteredDevice#allocate}. */
  DeviceMemory allocate(BufferDesc desc, List<BufferRole> roles, Consumer<DeviceMemory> onDeparture)
      throws DeviceException {
    if (!device.info().memoryDomain()) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, device.id() + " has no memory of its own");
    }
    Device entered = device.enter(false);
    if (entered == null) {
      throw new DeviceException(
          ErrorStatus.DEVICE_UNAVAILABLE,
          device.id() + ": " + device.absence().orElse("it has left"));
    }
    Function<ExecutionControl, Allocation> work =
        control -> allocation(entered, desc, roles, onDeparture);
    if (!device.isWatched()) {
      return device.here(work, ExecutionControl.NONE).orThrow();
    }
    Duration limit = device.settings().answerTime();
    Outcome<Allocation> outcome =
        device.make(new Terms("allocate", limit, ExecutionControl.NONE), work, Allocation::close);
    if (outcome.end() == End.NONE) {
      return outcome.answer().orThrow();
    }
    throw new DeviceException(
        RegisteredDevice.status(outcome.end()),
        device.id() + ": " + RegisteredDevice.describe(outcome.end(), limit));
  }

  /** What a device made of a wish for a buffer, one of them null. */
  private record Allocation(DeviceMemory memory, DeviceException failure) {
    DeviceMemory orThrow() throws DeviceException {
      if (failure != null) {
        throw failure;
      }
      return memory;
    }

    void close() {
      if (memory != null) {
        memory.close();
      }
    }
  }

  /** Has the device, which was entered, allocate. */
  private Allocation allocation(
      Device entered, BufferDesc desc, List<BufferRole> roles, Consumer<DeviceMemory> onDeparture) {
    try {
      DeviceBuffer answer = entered.allocate(desc, roles);
      if (answer == null) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, device.id() + " allocated nothing");
      }
      DeviceMemory handle = new DeviceMemory(device, answer, onDeparture);
      int token = answer.token();
      if (token <= 0) {
        handle.close();
        throw new DeviceException(
            ErrorStatus.GENERAL_FAILURE,
            device.id() + " allocated a buffer with the token " + token);
      }
      if (!occupancy.adopt(handle)) {
        handle.close();
        throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, device.id() + " left meanwhile");
      }
      return new Allocation(handle, null);
    } catch (DeviceException e) {
      // That it has no room for this, or no such memory, is not held against it.
      return new Allocation(null, e);
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      device.failed(ErrorStatus.GENERAL_FAILURE, "it broke: " + e);
      return new Allocation(
          null, new DeviceException(ErrorStatus.GENERAL_FAILURE, device.id() + " broke: " + e, e));
    }
  }

  /** Has the device copy from or to a buffer, and does not wait for ever for it. */
  CallOutcome copy(String name, Supplier<CallOutcome> copying) {
    if (!occupancy.enterToRescue()) {
      return CallOutcome.refused(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
    }
    if (!device.isWatched()) {
      return device.here(control -> copying.get(), ExecutionControl.NONE);
    }
    // One that hung once will hardly answer the next time: then nobody waits.
    if (doesNotCopy && !device.isServing()) {
      device.exit();
      return CallOutcome.refused(ErrorStatus.DEVICE_UNAVAILABLE, "it does not answer");
    }
    Duration limit = device.settings().answerTime();
    Outcome<CallOutcome> outcome =
        device.make(
            new Terms(name, limit, ExecutionControl.NONE), control -> copying.get(), late -> {});
    doesNotCopy = outcome.end() == End.HUNG;
    return outcome.end() == End.NONE
        ? outcome.answer()
        : RegisteredDevice.unanswered(outcome.end(), limit);
  }

  void forget(DeviceMemory memory) {
    occupancy.forget(memory);
  }
}
