// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.DeviceMemory;
import java.util.Optional;

/**
 * A memory as one execution uses it: on the device that executes, or in shared memory where that is
 * not possible, or not any more. Used by the one thread that executes; the lock of the memory is
 * held by {@link MemoryBindings}.
 */
public final class MemoryBinding {
  /** The room of a value that only the device knows the size of. */
  public static final long OPEN = Long.MAX_VALUE;

  private final DomainMemory memory;
  private final boolean writes;

  /** Null where it stands in shared memory. */
  private DeviceMemory target;

  /** How a request names the buffer. */
  private MemoryPool pool;

  /** What is held for the step that runs; else null. */
  private DeviceMemory held;

  private boolean hasBegun;
  private Shape shape = Shape.NONE;

  MemoryBinding(DomainMemory memory, boolean writes) {
    this.memory = memory;
    this.writes = writes;
  }

  DomainMemory memory() {
    return memory;
  }

  boolean writes() {
    return writes;
  }

  /** Finds out where it is, or will be. */
  void begin(PreparedPlan plan) throws NeuralNetworksException {
    MemoryState state = memory.state();
    target = (writes ? state.reserve(plan) : state.beginRead(plan)).orElse(null);
    pool = target == null ? null : target.pool().orElse(null);
    if (target != null && pool == null) {
      // It has left since; what was there has moved.
      leaveDevice();
      if (!writes) {
        state.share();
      }
    }
    shape = writes ? memory.operand().shape() : state.shape();
  }

  /** What was in it is gone from now on, where it writes. */
  void start() throws NeuralNetworksException {
    if (writes) {
      hasBegun = true;
      memory.state().startWriting(target == null);
    }
  }

  /** Ends it. */
  void end(boolean isSuccess) {
    if (hasBegun) {
      if (isSuccess) {
        memory.state().commit(shape, target == null);
      } else {
        memory.state().fail();
      }
    }
    leaveDevice();
  }

  private void leaveDevice() {
    if (target != null) {
      target.release();
      target = null;
      pool = null;
    }
  }

  /** Whether this execution writes it. */
  public boolean isWritten() {
    return writes;
  }

  /** The dimensions of its contents, as far as they are known. */
  public Shape shape() {
    return shape;
  }

  /** In bytes; {@link #OPEN} for what only the device will know. */
  public long length() {
    Operand actual = memory.operand().with(shape);
    return actual.isSizeKnown() ? actual.byteSize() : OPEN;
  }

  /** The buffer to execute with; empty where it is to be found in shared memory. */
  public Optional<DeviceMemory> buffer() {
    return Optional.ofNullable(target);
  }

  /** How a request names the buffer; to be asked only where there is one. */
  public MemoryPool pool() {
    return pool;
  }

  /** Where it is in shared memory, or a copy of it after {@link #share}. */
  public SharedMemory shared() {
    return memory.state().shared();
  }

  /** Whether what it holds could be copied to shared memory, where it then is too. */
  public boolean share() {
    try {
      memory.state().share();
      return true;
    } catch (NeuralNetworksException e) {
      return false;
    }
  }

  /**
   * Goes on in shared memory, for a step that is repeated elsewhere.
   *
   * @param isRewritten whether that step writes it
   * @throws NeuralNetworksException where the device does not give the contents out: with
   *     DEAD_OBJECT for those of before the execution
   */
  public void recall(boolean isRewritten) throws NeuralNetworksException {
    if (target == null) {
      return;
    }
    if (isRewritten) {
      memory.state().startWriting(true);
    } else {
      memory.state().share();
      memory.state().distrust(target);
    }
    leaveDevice();
  }

  /** Has everything as it was before the execution began, in shared memory. */
  void restart() throws NeuralNetworksException {
    recall(writes);
    if (writes) {
      shape = memory.operand().shape();
      memory.state().startWriting(true);
    }
  }

  /** Keeps the device until what it writes is booked. */
  public void beginStep() {
    if (target != null) {
      target.hold();
      held = target;
    }
  }

  /** A step that writes it is over, and booked. */
  public void endStep() {
    if (held != null) {
      held.letGo();
      held = null;
    }
  }

  /** A step has written it. */
  public void written(Shape actual) {
    shape = actual;
    if (target != null) {
      memory.state().writtenOn(target, actual);
    }
  }

  /** A device that was given up may still write to where it is. */
  public void abandon() throws NeuralNetworksException {
    if (target == null) {
      memory.state().abandonShared();
    } else {
      memory.state().abandon(target);
    }
  }
}
