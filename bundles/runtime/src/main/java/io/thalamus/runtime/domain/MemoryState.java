// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.MemoryInfo;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.BulkCopy;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.operations.MemoryRoles;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.domain.Residence.Both;
import io.thalamus.runtime.domain.Residence.Device;
import io.thalamus.runtime.domain.Residence.Held;
import io.thalamus.runtime.domain.Residence.Host;
import io.thalamus.runtime.domain.Residence.Lost;
import io.thalamus.runtime.domain.Residence.Nowhere;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.DeviceMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The contents of a memory, and where they are. Thread-safe; {@link MemoryLock} says who may read
 * and write at the same time. Owns a buffer on a device, if one serves all roles, and shared
 * memory, if it was ever needed.
 *
 * <p>Shared memory is where everything else can begin from: contents leave a buffer only through
 * it.
 */
final class MemoryState {
  private final RoleSet roleSet;
  private final BufferSlot slot;
  private final Object lock = new Object();
  private Residence residence = Residence.NOWHERE;

  /** Null until it is first needed. */
  private SharedMemory shared;

  MemoryState(RoleSet roleSet) {
    this.roleSet = roleSet;
    this.slot = new BufferSlot(roleSet, this::leaveBuffer, this::departing);
  }

  /** Finds room; NNAPI's rules say when shared memory will do. */
  void allocate() throws NeuralNetworksException {
    synchronized (lock) {
      slot.allocate();
      if (slot.buffer() != null) {
        return;
      }
      if (slot.isForNamedDevices()) {
        throw failed(
            "no device has room for it, and a compilation named its devices: " + slot.objection());
      }
      if (!roleSet.operand().isSizeKnown()) {
        throw failed(
            "no device has room for it (%s), and shared memory needs all dimensions: %s"
                .formatted(slot.objection(), shape()));
      }
      makeRoom(shape());
    }
  }

  private NeuralNetworksException failed(String why) {
    return new NeuralNetworksException(
        ResultCode.OP_FAILED, "memory '%s': %s".formatted(roleSet.name(), why));
  }

  /** Moves contents that are in the buffer only to shared memory; if that fails, they are lost. */
  private void leaveBuffer() {
    if (residence instanceof Device) {
      keep();
    }
    residence = residence.withoutDevice();
  }

  /**
   * Begins to read.
   *
   * @return the buffer that holds the contents, retained for the caller, if every step of the plan
   *     can be given it; empty if the contents are in shared memory
   * @throws NeuralNetworksException with OP_FAILED if it holds nothing, DEAD_OBJECT if the contents
   *     are lost
   */
  Optional<DeviceMemory> beginRead(PreparedPlan plan) throws NeuralNetworksException {
    synchronized (lock) {
      requireContents(ResultCode.OP_FAILED);
      Optional<DeviceMemory> buffer = slot.retain(plan);
      boolean isTaken = false;
      try {
        // Another buffer may have shown that the contents are lost.
        requireContents(ResultCode.OP_FAILED);
        isTaken = buffer.isPresent() && (residence.isOnDevice() || push());
      } finally {
        if (!isTaken) {
          buffer.ifPresent(DeviceMemory::release);
        }
      }
      if (isTaken) {
        return buffer;
      }
      pull();
      return Optional.empty();
    }
  }

  /** Finds room for what is going to be written, as {@link #beginRead}; changes nothing yet. */
  Optional<DeviceMemory> reserve(PreparedPlan plan) throws NeuralNetworksException {
    synchronized (lock) {
      Optional<DeviceMemory> buffer = slot.retain(plan);
      if (buffer.isEmpty() && !roleSet.operand().isSizeKnown()) {
        throw failed(
            "only a device has room for a value of open dimensions, and none does now: "
                + slot.objection());
      }
      return buffer;
    }
  }

  /** Begins to write: the earlier contents are gone. */
  void startWriting(boolean inSharedMemory) throws NeuralNetworksException {
    synchronized (lock) {
      residence = Residence.NOWHERE;
      if (inSharedMemory) {
        makeRoom(shape());
      }
    }
  }

  /** Takes note that a step has written to the buffer; the execution may still fail. */
  void writtenOn(DeviceMemory target, Shape actual) {
    synchronized (lock) {
      if (slot.buffer() == target) {
        residence = new Device(actual, false);
      } else if (!(residence instanceof Lost)) {
        residence = Residence.NOWHERE;
      }
    }
  }

  /** Ends an execution that writes and has succeeded. */
  void commit(Shape actual, boolean inSharedMemory) {
    synchronized (lock) {
      if (inSharedMemory) {
        residence = new Host(actual, true);
      } else if (residence instanceof Nowhere) {
        residence = new Lost("the device left as soon as it had written it");
      } else {
        residence = residence.completed(actual);
        shadow();
      }
    }
  }

  /** Copies what the device has just written to shared memory, if the application wants that. */
  private void shadow() {
    if (roleSet.shadowed() && residence instanceof Device) {
      keep();
    }
  }

  /**
   * Copies the contents to shared memory; if that fails, their residence says that they are lost.
   */
  private void keep() {
    try {
      pull();
    } catch (NeuralNetworksException e) {
      // Whoever needs the contents learns of it by their residence.
      if (!(residence instanceof Lost)) {
        residence = new Lost(e.getMessage());
      }
    }
  }

  /** Ends an execution that writes and has failed: nobody knows what it has written. */
  void fail() {
    synchronized (lock) {
      residence = Residence.NOWHERE;
    }
  }

  /** Drops a buffer that an abandoned device may still write to. */
  void abandon(DeviceMemory target) {
    synchronized (lock) {
      if (slot.buffer() == target) {
        residence = residence.withoutDevice();
        slot.discard();
      }
    }
  }

  /** Replaces the shared memory, since an abandoned device may still write to it. */
  void abandonShared() throws NeuralNetworksException {
    synchronized (lock) {
      dropShared();
      makeRoom(shape());
    }
  }

  /**
   * Has the contents in shared memory.
   *
   * @throws NeuralNetworksException with DEAD_OBJECT if the device does not give them out
   */
  void share() throws NeuralNetworksException {
    synchronized (lock) {
      pull();
    }
  }

  /** Has the contents copied to this buffer anew before it is next read. */
  void distrust(DeviceMemory target) {
    synchronized (lock) {
      if (slot.buffer() == target && residence.isOnHost()) {
        residence = residence.withoutDevice();
      }
    }
  }

  /** Returns the shared memory, which has the contents after {@link #share}. */
  SharedMemory shared() {
    synchronized (lock) {
      return shared;
    }
  }

  private void pull() throws NeuralNetworksException {
    switch (residence) {
      case Lost lost -> throw lost(lost);
      case Nowhere _ -> throw failed("it holds nothing");
      case Host _, Both _ -> {}
      case Device held -> pull(held);
    }
  }

  private void pull(Device held) throws NeuralNetworksException {
    makeRoom(held.shape());
    DeviceMemory buffer = slot.buffer();
    if (!(buffer.copyTo(shared) instanceof Unanswered<Void> none)) {
      residence = new Both(held.shape(), held.isComplete());
      return;
    }
    if (none instanceof Abandoned) {
      dropShared();
    }
    slot.discard();
    Lost lost =
        new Lost(
            "the only copy was on %s, which does not give it out: %s"
                .formatted(buffer.device().id(), none.message()));
    residence = lost;
    throw lost(lost);
  }

  /** Copies contents of shared memory to the buffer, and returns whether that succeeded. */
  private boolean push() {
    Shape given = roleSet.operand().isSizeKnown() ? Shape.NONE : shape();
    if (slot.buffer().copyFrom(shared, given) instanceof Unanswered<Void> none) {
      slot.refuse(none.message());
      if (none instanceof Abandoned) {
        slot.discard();
      }
      return false;
    }
    residence = new Both(shape(), residence.isComplete());
    return true;
  }

  private NeuralNetworksException lost(Lost lost) {
    return new NeuralNetworksException(
        ResultCode.DEAD_OBJECT,
        "the contents of memory '%s' are lost: %s; write it anew"
            .formatted(roleSet.name(), lost.reason()));
  }

  private void requireContents(ResultCode code) throws NeuralNetworksException {
    if (residence instanceof Lost lost) {
      throw lost(lost);
    }
    if (!residence.isComplete()) {
      throw new NeuralNetworksException(
          code,
          "memory '%s' holds nothing: copy to it, or have an execution write it"
              .formatted(roleSet.name()));
    }
  }

  /** Has shared memory for contents of this shape. Its earlier contents are gone. */
  private void makeRoom(Shape actual) throws NeuralNetworksException {
    Operand operand = roleSet.operand().with(actual);
    if (!operand.isSizeKnown()) {
      throw failed("its dimensions are open, and shared memory needs all of them: " + actual);
    }
    long bytes = operand.byteSize();
    if (shared != null && shared.size() == bytes) {
      return;
    }
    dropShared();
    try {
      shared = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    } catch (SharedMemoryException e) {
      throw new NeuralNetworksException(
          ResultCode.RESOURCE_EXHAUSTED_TRANSIENT,
          "memory '%s': %s".formatted(roleSet.name(), e.getMessage()),
          e);
    }
  }

  private void dropShared() {
    SharedMemory old = shared;
    shared = null;
    residence = residence.withoutHost();
    if (old != null) {
      old.close();
    }
  }

  /** Moves out of the buffer of a device that leaves; no call runs on it any more. */
  private void departing(DeviceMemory left) {
    synchronized (lock) {
      if (slot.buffer() == left) {
        leaveBuffer();
        slot.discard();
      }
    }
  }

  /** Copies contents in. The earlier ones are gone, whether it succeeds or not. */
  void write(MemorySegment source, Shape given) throws NeuralNetworksException {
    synchronized (lock) {
      residence = Residence.NOWHERE;
      Shape actual =
          roleSet
              .operand()
              .shape()
              .combine(given)
              .orElseThrow(
                  () -> refused("its dimensions are %s, got %s".formatted(shape(), given)));
      Operand operand = roleSet.operand().with(actual);
      if (!operand.isSizeKnown()) {
        throw refused("give the dimensions with the contents: it only knows " + shape());
      }
      requireSize(operand.byteSize(), source);
      makeRoom(actual);
      copy(source, shared.segment());
      residence = new Host(actual, true);
    }
  }

  /** Copies the contents out. */
  void read(MemorySegment destination) throws NeuralNetworksException {
    synchronized (lock) {
      requireContents(ResultCode.BAD_DATA);
      requireSize(roleSet.operand().with(shape()).byteSize(), destination);
      pull();
      copy(shared.segment(), destination);
    }
  }

  /** Has the contents in shared memory for another memory to copy, and returns their shape. */
  Shape offer() throws NeuralNetworksException {
    synchronized (lock) {
      requireContents(ResultCode.BAD_DATA);
      pull();
      return shape();
    }
  }

  private void requireSize(long bytes, MemorySegment other) throws NeuralNetworksException {
    if (other.byteSize() != bytes) {
      throw refused("it is of %,d bytes, got %,d".formatted(bytes, other.byteSize()));
    }
  }

  private void copy(MemorySegment from, MemorySegment to) throws NeuralNetworksException {
    try {
      BulkCopy.copy(from, 0, to, 0, from.byteSize());
    } catch (IllegalStateException | WrongThreadException e) {
      throw refused("the other side is closed, or belongs to another thread");
    } catch (IllegalArgumentException | UnsupportedOperationException e) {
      throw refused("the other side is read-only");
    }
  }

  private NeuralNetworksException refused(String why) {
    return NeuralNetworksException.badData("memory '%s': %s".formatted(roleSet.name(), why));
  }

  /** Returns the dimensions of the contents, or as far as they are known if there are none. */
  Shape shape() {
    synchronized (lock) {
      return residence instanceof Held held ? held.shape() : roleSet.operand().shape();
    }
  }

  /** Returns what the memory is and where its contents are. */
  MemoryInfo describe(String owner, Duration age) {
    synchronized (lock) {
      String device = slot.buffer() == null ? MemoryInfo.SHARED : slot.buffer().device().id();
      List<String> places = new ArrayList<>();
      if (residence.isComplete() && residence.isOnDevice()) {
        places.add(device);
      }
      if (residence.isComplete() && residence.isOnHost()) {
        places.add(MemoryInfo.SHARED);
      }
      Operand actual = roleSet.operand().with(shape());
      return new MemoryInfo(
          roleSet.name(),
          owner,
          actual.type(),
          actual.shape(),
          actual.isSizeKnown() ? actual.byteSize() : 0,
          places,
          device,
          roleSet.roles().stream().map(MemoryRoles.Role::text).toList(),
          residence.isComplete()
              ? State.INITIALIZED
              : residence instanceof Lost ? State.DEAD : State.UNINITIALIZED,
          residence instanceof Lost lost ? lost.reason() : "",
          roleSet.shadowed(),
          age);
    }
  }

  /** Frees everything; called when nobody uses it any more. */
  void free() {
    synchronized (lock) {
      residence = Residence.NOWHERE;
      slot.drop();
      dropShared();
    }
  }
}
