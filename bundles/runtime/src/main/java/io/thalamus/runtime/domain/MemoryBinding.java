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
 * A memory as one execution uses it: on the device that executes, or in shared memory if that is
 * not possible, or not any more. Used by the one thread that executes; the lock of the memory is
 * held by {@link MemoryBindings}.
 */
public final class MemoryBinding {
  /** The length of a value of which only the device knows the size. */
  public static final long OPEN = Long.MAX_VALUE;

  private final DomainMemory memory;
  private final boolean writes;

  /** The buffer; null for shared memory. */
  private DeviceMemory target;

  /** The buffer as a request names it. */
  private MemoryPool pool;

  /** The buffer that is held for the step that runs; else null. */
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

  /** Finds out where the contents are, or will be. */
  void begin(PreparedPlan plan) throws NeuralNetworksException {
    MemoryState state = memory.state();
    target = (writes ? state.reserve(plan) : state.beginRead(plan)).orElse(null);
    pool = target == null ? null : target.pool().orElse(null);
    if (target != null && pool == null) {
      // The device has left since; the contents have moved.
      leaveDevice();
      if (!writes) {
        state.share();
      }
    }
    shape = writes ? memory.operand().shape() : state.shape();
  }

  /** Begins to write, if the execution does: the earlier contents are gone. */
  void start() throws NeuralNetworksException {
    if (writes) {
      hasBegun = true;
      memory.state().startWriting(target == null);
    }
  }

  /** Ends the use. */
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

  /** Returns whether this execution writes the memory. */
  public boolean isWritten() {
    return writes;
  }

  /** Returns the dimensions of the contents, as far as they are known. */
  public Shape shape() {
    return shape;
  }

  /** Returns the length in bytes; {@link #OPEN} if only the device will know it. */
  public long length() {
    Operand actual = memory.operand().with(shape);
    return actual.isSizeKnown() ? actual.byteSize() : OPEN;
  }

  /** Returns the buffer to execute with; empty if the memory is shared memory. */
  public Optional<DeviceMemory> buffer() {
    return Optional.ofNullable(target);
  }

  /** Returns the buffer as a request names it; called only if there is one. */
  public MemoryPool pool() {
    return pool;
  }

  /** Returns the shared memory, which has a copy of the contents after {@link #share}. */
  public SharedMemory shared() {
    return memory.state().shared();
  }

  /** Has the contents in shared memory too, and returns whether that was possible. */
  public boolean share() {
    try {
      memory.state().share();
      return true;
    } catch (NeuralNetworksException e) {
      return false;
    }
  }

  /**
   * Continues in shared memory, for a step that is repeated elsewhere.
   *
   * @param isRewritten whether that step writes it
   * @throws NeuralNetworksException with DEAD_OBJECT if the device does not give out the contents
   *     that were there before the execution
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

  /** Has everything in shared memory as it was before the execution began. */
  void restart() throws NeuralNetworksException {
    recall(writes);
    if (writes) {
      shape = memory.operand().shape();
      memory.state().startWriting(true);
    }
  }

  /** Keeps the device from leaving until its writes are recorded. */
  public void beginStep() {
    if (target != null) {
      target.retainDevice();
      held = target;
    }
  }

  /** Ends a step that writes the memory, once its writes are recorded. */
  public void endStep() {
    if (held != null) {
      held.releaseDevice();
      held = null;
    }
  }

  /** Records that a step has written the memory. */
  public void written(Shape actual) {
    shape = actual;
    if (target != null) {
      memory.state().writtenOn(target, actual);
    }
  }

  /** Gives up the place of the contents, since an abandoned device may still write to it. */
  public void abandon() throws NeuralNetworksException {
    if (target == null) {
      memory.state().abandonShared();
    } else {
      memory.state().abandon(target);
    }
  }
}
