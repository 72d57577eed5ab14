// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.MemoryInfo;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.DeviceException;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.DeviceMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a memory holds, and where. Thread-safe; who may read and write at the same time is for
 * {@link MemoryLock} to say. Owns a buffer on a device, where one serves all roles, and shared
 * memory, where it was ever needed; the contents are in one of them, in both after a move, or
 * nowhere.
 *
 * <p>Shared memory is where everything else can begin from: contents leave a buffer only through
 * it. A buffer is bound to the prepared models of a moment; when plans have changed, the next
 * execution has another one allocated.
 */
final class MemoryState {
  private final RoleSet layout;
  private final List<RoleHost> hosts;
  private final Object lock = new Object();

  private State state = State.UNINITIALIZED;
  private String reason = "";

  /** Of what it holds. */
  private Shape shape;

  private SharedMemory shared;
  private boolean inShared;
  private DeviceMemory buffer;
  private boolean inBuffer;

  /** The plans whose steps the buffer can be given to. */
  private List<PreparedPlan> served = List.of();

  /** The plans of the moment at which it was last found out where to stand; null for never. */
  private List<PreparedPlan> considered;

  /** Why there is no buffer, for people. */
  private String objection = "";

  MemoryState(RoleSet layout) {
    this.layout = layout;
    this.hosts = layout.hosts();
    this.shape = layout.operand().shape();
  }

  /** Finds room; NNAPI's rules say where shared memory will do. */
  void allocate() throws NeuralNetworksException {
    synchronized (lock) {
      place();
      if (buffer != null) {
        return;
      }
      if (hosts.stream().anyMatch(RoleHost::isForNamedDevices)) {
        throw failed(
            "no device has room for it, and a compilation named its devices: " + objection);
      }
      if (!layout.operand().isSizeKnown()) {
        throw failed(
            "no device has room for it (%s), and shared memory needs all dimensions: %s"
                .formatted(objection, shape));
      }
      makeRoom();
    }
  }

  private NeuralNetworksException failed(String why) {
    return new NeuralNetworksException(
        ResultCode.OP_FAILED, "memory '%s': %s".formatted(layout.name(), why));
  }

  /** Finds a buffer for the plans of the moment. Under the lock. */
  private void place() {
    List<PreparedPlan> now = new ArrayList<>(hosts.size());
    try {
      hosts.forEach(host -> now.add(host.acquirePlan().orElse(null)));
      if (now.equals(considered)) {
        return;
      }
      boolean isLasting = place(now);
      considered = isLasting ? now : null;
    } finally {
      for (PreparedPlan plan : now) {
        if (plan != null) {
          plan.release();
        }
      }
    }
  }

  /** Whether it need not be tried again for the same plans. */
  private boolean place(List<PreparedPlan> plans) {
    Optional<Placement> placement = Placement.of(layout, hosts, plans);
    if (placement.isEmpty()) {
      objection = "its roles do not lead to one device";
      giveUpBuffer();
      return true;
    }
    // First: a device may have room for one only.
    giveUpBuffer();
    try {
      buffer =
          placement
              .get()
              .device()
              .allocate(
                  new BufferDesc(layout.dimensions()), placement.get().roles(), this::departing);
      served = List.copyOf(plans.stream().filter(plan -> plan != null).toList());
      return true;
    } catch (DeviceException e) {
      objection = e.getMessage();
      return e.status() != ErrorStatus.DEVICE_UNAVAILABLE;
    }
  }

  /** Moves out of the buffer, and lets go of it. Under the lock. */
  private void giveUpBuffer() {
    if (buffer == null) {
      return;
    }
    rescue();
    dropBuffer();
  }

  /** Has the contents elsewhere than in the buffer only; where that fails, they have died. */
  private void rescue() {
    if (!inBuffer || inShared) {
      return;
    }
    try {
      pull();
    } catch (NeuralNetworksException e) {
      // Whoever needs them learns of it by the state.
      if (state != State.DEAD) {
        die(e.getMessage());
      }
    }
  }

  private void dropBuffer() {
    DeviceMemory old = buffer;
    buffer = null;
    inBuffer = false;
    served = List.of();
    if (old != null) {
      old.close();
    }
  }

  /**
   * Begins to read.
   *
   * @return the buffer that holds the contents, retained for the caller, where every step of the
   *     plan can be given it; empty where the contents are in shared memory
   * @throws NeuralNetworksException with OP_FAILED where it holds nothing, DEAD_OBJECT where that
   *     has died
   */
  Optional<DeviceMemory> beginRead(PreparedPlan plan) throws NeuralNetworksException {
    synchronized (lock) {
      requireContents(ResultCode.OP_FAILED);
      Optional<DeviceMemory> usable = usable(plan);
      boolean isTaken = false;
      try {
        // Finding room may have shown that the contents have died.
        requireContents(ResultCode.OP_FAILED);
        isTaken = usable.isPresent() && (inBuffer || push());
      } finally {
        if (!isTaken) {
          usable.ifPresent(DeviceMemory::release);
        }
      }
      if (isTaken) {
        return usable;
      }
      pull();
      return Optional.empty();
    }
  }

  /** Finds room for what is going to be written, as {@link #beginRead}; changes nothing yet. */
  Optional<DeviceMemory> reserve(PreparedPlan plan) throws NeuralNetworksException {
    synchronized (lock) {
      Optional<DeviceMemory> usable = usable(plan);
      if (usable.isEmpty() && !layout.operand().isSizeKnown()) {
        throw failed(
            "only a device has room for a value of open dimensions, and none does now: "
                + objection);
      }
      return usable;
    }
  }

  private Optional<DeviceMemory> usable(PreparedPlan plan) {
    if (!served.contains(plan)) {
      place();
    }
    return served.contains(plan) && buffer.device().isServing() && buffer.retain()
        ? Optional.of(buffer)
        : Optional.empty();
  }

  /** Something is going to be written now: what was there is gone. */
  void startWriting(boolean inSharedMemory) throws NeuralNetworksException {
    synchronized (lock) {
      clear();
      if (inSharedMemory) {
        makeRoom();
      }
    }
  }

  private void clear() {
    state = State.UNINITIALIZED;
    reason = "";
    shape = layout.operand().shape();
    inShared = false;
    inBuffer = false;
  }

  /** A step has written to the buffer; nobody knows yet whether the execution will succeed. */
  void writtenOn(DeviceMemory target, Shape actual) {
    synchronized (lock) {
      inBuffer = buffer == target;
      shape = actual;
    }
  }

  /** What was written is to be written again, to shared memory. */
  void rewriteShared() throws NeuralNetworksException {
    startWriting(true);
  }

  /** An execution that writes has succeeded. */
  void commit(Shape actual, boolean inSharedMemory) {
    synchronized (lock) {
      shape = actual;
      inShared |= inSharedMemory;
      if (inShared || inBuffer) {
        state = State.INITIALIZED;
        reason = "";
      } else if (state != State.DEAD) {
        die("the device left as soon as it had written it");
      }
    }
  }

  /** An execution that writes has failed: nobody knows what stands there now. */
  void fail() {
    synchronized (lock) {
      clear();
    }
  }

  /** A device that was given up may still write to the buffer: it is never used again. */
  void abandon(DeviceMemory target) {
    synchronized (lock) {
      if (buffer == target) {
        dropBuffer();
        considered = null;
      }
    }
  }

  /** A device that was given up may still write to the shared memory: it is never used again. */
  void abandonShared() throws NeuralNetworksException {
    synchronized (lock) {
      dropShared();
      makeRoom();
    }
  }

  /**
   * Has the contents in shared memory.
   *
   * @throws NeuralNetworksException with DEAD_OBJECT where the device does not give them out
   */
  void share() throws NeuralNetworksException {
    synchronized (lock) {
      pull();
    }
  }

  /** What a device has in this buffer is not relied on any more: it is copied there anew. */
  void distrust(DeviceMemory target) {
    synchronized (lock) {
      if (buffer == target && inShared) {
        inBuffer = false;
      }
    }
  }

  /** Where shared contents are. */
  SharedMemory shared() {
    synchronized (lock) {
      return shared;
    }
  }

  private void pull() throws NeuralNetworksException {
    if (state == State.DEAD) {
      throw dead();
    }
    if (inShared) {
      return;
    }
    if (!inBuffer) {
      throw failed("it holds nothing");
    }
    makeRoom();
    Answer<Void> answer = buffer.copyTo(shared);
    if (!(answer instanceof Unanswered<Void> none)) {
      inShared = true;
      return;
    }
    String device = buffer.device().id();
    if (none instanceof Abandoned) {
      dropShared();
    }
    dropBuffer();
    considered = null;
    die("the only copy was on " + device + ", which does not give it out: " + none.message());
    throw dead();
  }

  private boolean push() {
    Answer<Void> answer =
        buffer.copyFrom(shared, layout.operand().isSizeKnown() ? Shape.NONE : shape);
    inBuffer = !(answer instanceof Unanswered);
    if (answer instanceof Unanswered<Void> none) {
      objection = none.message();
      dropBuffer();
      if (none instanceof Abandoned) {
        considered = null;
      }
    }
    return inBuffer;
  }

  private void die(String why) {
    clear();
    state = State.DEAD;
    reason = why;
  }

  private NeuralNetworksException dead() {
    return new NeuralNetworksException(
        ResultCode.DEAD_OBJECT,
        "what memory '%s' held has died: %s; write it anew".formatted(layout.name(), reason));
  }

  private void requireContents(ResultCode code) throws NeuralNetworksException {
    if (state == State.DEAD) {
      throw dead();
    }
    if (state == State.UNINITIALIZED) {
      throw new NeuralNetworksException(
          code,
          "memory '%s' holds nothing: copy to it, or have an execution write it"
              .formatted(layout.name()));
    }
  }

  /** Has shared memory of the size of the contents. What stood there is gone. */
  private void makeRoom() throws NeuralNetworksException {
    Operand actual = layout.operand().with(shape);
    if (!actual.isSizeKnown()) {
      throw failed("its dimensions are open, and shared memory needs all of them: " + shape);
    }
    long bytes = actual.byteSize();
    if (shared != null && shared.size() == bytes) {
      return;
    }
    dropShared();
    try {
      shared = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    } catch (SharedMemoryException e) {
      throw new NeuralNetworksException(
          ResultCode.RESOURCE_EXHAUSTED_TRANSIENT,
          "memory '%s': %s".formatted(layout.name(), e.getMessage()),
          e);
    }
  }

  private void dropShared() {
    SharedMemory old = shared;
    shared = null;
    inShared = false;
    if (old != null) {
      old.close();
    }
  }

  /** The device leaves, and no call runs on it: the last moment to move out. */
  private void departing(DeviceMemory left) {
    synchronized (lock) {
      if (buffer != left) {
        return;
      }
      rescue();
      dropBuffer();
      considered = null;
    }
  }

  /** Copies in; what was there is gone, whether it succeeds or not. */
  void write(MemorySegment source, Shape given) throws NeuralNetworksException {
    synchronized (lock) {
      clear();
      Shape actual =
          layout
              .operand()
              .shape()
              .combine(given)
              .orElseThrow(() -> refused("its dimensions are %s, got %s".formatted(shape, given)));
      Operand operand = layout.operand().with(actual);
      if (!operand.isSizeKnown()) {
        throw refused("give the dimensions with the contents: it only knows " + shape);
      }
      requireSize(operand.byteSize(), source);
      shape = actual;
      makeRoom();
      copy(source, shared.segment());
      inShared = true;
      state = State.INITIALIZED;
    }
  }

  /** Copies out. */
  void read(MemorySegment destination) throws NeuralNetworksException {
    synchronized (lock) {
      requireContents(ResultCode.BAD_DATA);
      requireSize(layout.operand().with(shape).byteSize(), destination);
      pull();
      copy(shared.segment(), destination);
    }
  }

  /** Has the contents ready to be copied by another memory, and says their shape. */
  Shape offer() throws NeuralNetworksException {
    synchronized (lock) {
      requireContents(ResultCode.BAD_DATA);
      pull();
      return shape;
    }
  }

  private void requireSize(long bytes, MemorySegment other) throws NeuralNetworksException {
    if (other.byteSize() != bytes) {
      throw refused("it is of %,d bytes, got %,d".formatted(bytes, other.byteSize()));
    }
  }

  private void copy(MemorySegment from, MemorySegment to) throws NeuralNetworksException {
    try {
      to.copyFrom(from);
    } catch (IllegalStateException | WrongThreadException e) {
      throw refused("the other side is closed, or belongs to another thread");
    } catch (IllegalArgumentException | UnsupportedOperationException e) {
      throw refused("the other side is read-only");
    }
  }

  private NeuralNetworksException refused(String why) {
    return new NeuralNetworksException(
        ResultCode.BAD_DATA, "memory '%s': %s".formatted(layout.name(), why));
  }

  Shape shape() {
    synchronized (lock) {
      return shape;
    }
  }

  MemoryInfo describe() {
    synchronized (lock) {
      List<String> places = new ArrayList<>();
      if (state == State.INITIALIZED && inBuffer) {
        places.add(buffer.device().id());
      }
      if (state == State.INITIALIZED && inShared) {
        places.add(MemoryInfo.SHARED);
      }
      Operand actual = layout.operand().with(shape);
      return new MemoryInfo(
          layout.name(),
          actual.type(),
          shape,
          actual.isSizeKnown() ? actual.byteSize() : 0,
          places,
          buffer != null ? buffer.device().id() : MemoryInfo.SHARED,
          layout.roles().stream().map(RoleSet.Role::describe).toList(),
          state,
          reason);
    }
  }

  /** Gives everything back; to be called when nobody uses it any more. */
  void free() {
    synchronized (lock) {
      clear();
      dropBuffer();
      dropShared();
    }
  }
}
