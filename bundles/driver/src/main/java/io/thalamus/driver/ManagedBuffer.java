// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.BulkCopy;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A buffer that a {@link BufferTracker} allocated. Thread-safe. Owned by the caller that had it
 * allocated; its bytes stay until it is closed and the last execution or copy that uses them has
 * ended.
 *
 * <p>It holds contents after a copy into it, or an execution that wrote it, has succeeded, and
 * nothing as soon as the next one begins. The users of a buffer order writes and reads. If calls
 * meet all the same, they fail: none of them reports torn contents as whole.
 *
 * <p>A buffer of unknown dimensions takes those of each value that is written to it, and grows if
 * that needs more bytes. Calls that still use the former bytes keep them to their end.
 */
public final class ManagedBuffer implements DeviceBuffer {
  private final BufferTracker tracker;
  private final int token;
  private final BufferPlan plan;
  private final Object lock = new Object();
  private final ReferenceCount uses;

  /** Null while a buffer of unknown dimensions was never written. */
  private BufferMemory memory;

  /** Former memory that calls under way may still use. */
  private final List<BufferMemory> retired = new ArrayList<>();

  /** The dimensions of the contents; those of the plan where there are none. */
  private Shape shape;

  private boolean initialised;
  private int writers;
  private int users;

  /** The number of events that made earlier contents invalid: writes that began, and losses. */
  private long version;

  /** The version of a write that met another one: its contents are never valid. */
  private static final long MIXED = -1;

  ManagedBuffer(BufferTracker tracker, int token, BufferPlan plan, BufferMemory memory) {
    this.tracker = tracker;
    this.token = token;
    this.plan = plan;
    this.memory = memory;
    this.shape = plan.operand().shape();
    this.uses = new ReferenceCount(this::freeAll);
  }

  private void freeAll() {
    synchronized (lock) {
      if (memory != null) {
        memory.close();
      }
      freeRetired();
    }
  }

  private void freeRetired() {
    retired.forEach(BufferMemory::close);
    retired.clear();
  }

  @Override
  public int token() {
    return token;
  }

  BufferTracker tracker() {
    return tracker;
  }

  /** Returns the type and the dimensions of the contents, as far as they are known. */
  public Operand operand() {
    synchronized (lock) {
      return plan.operand().with(shape);
    }
  }

  /** Returns true if each value that is written may have other dimensions. */
  boolean isOpen() {
    return plan.isOpen();
  }

  /** Returns the type and the dimensions that every value has. */
  Operand declared() {
    return plan.operand();
  }

  /** Returns the bytes; to be accessed only while {@link RequestBuffers} keep the buffer. */
  public MemorySegment bytes() {
    synchronized (lock) {
      if (memory == null) {
        return MemorySegment.NULL;
      }
      return plan.isOpen() && initialised
          ? memory.bytes().asSlice(0, Frame.size(plan.operand(), shape))
          : memory.bytes();
    }
  }

  /**
   * Gives a buffer of unknown dimensions room for a value, whose write has begun.
   *
   * @return the room, of exactly that size
   * @throws DeviceException with RESOURCE_EXHAUSTED_* if the device has no such room
   */
  MemorySegment resize(Shape value) throws DeviceException {
    long bytes = BufferPlan.bytes(plan.operand(), value);
    synchronized (lock) {
      if (memory == null || memory.bytes().byteSize() < bytes) {
        BufferMemory larger = tracker.allocate(plan.operand(), bytes);
        if (memory != null) {
          retired.add(memory);
        }
        memory = larger;
      }
      return memory.bytes().asSlice(0, bytes);
    }
  }

  /** Returns whether the buffer was declared for this use. */
  boolean has(PreparedModel model, Direction direction, int index) {
    return plan.has(model, direction, index);
  }

  /**
   * Keeps the bytes until {@link #release}.
   *
   * @throws DeviceException with INVALID_ARGUMENT if the buffer is closed, with GENERAL_FAILURE if
   *     its device is
   */
  void use() throws DeviceException {
    if (!uses.retain()) {
      throw tracker.isClosed() ? tracker.stopped() : DeviceException.invalid(name() + " is closed");
    }
    synchronized (lock) {
      users++;
    }
  }

  /** Ends a use. */
  void release() {
    synchronized (lock) {
      if (--users == 0) {
        freeRetired();
      }
    }
    uses.release();
  }

  /**
   * Begins to read.
   *
   * @return the version to pass to {@link #isUnchanged} when all has been read
   * @throws DeviceException with GENERAL_FAILURE if the buffer holds nothing
   */
  long beginRead() throws DeviceException {
    synchronized (lock) {
      if (!initialised) {
        throw DeviceException.failure(name() + " holds nothing: write it first");
      }
      return version;
    }
  }

  /** Returns whether the contents are still those of that version. */
  boolean isUnchanged(long since) {
    synchronized (lock) {
      return version == since;
    }
  }

  /** Begins to write: the buffer holds nothing now. Returns the version for {@link #endWrite}. */
  long beginWrite() {
    synchronized (lock) {
      initialised = false;
      version++;
      return writers++ == 0 ? version : MIXED;
    }
  }

  /**
   * Ends a write.
   *
   * @param begun the version that {@link #beginWrite} returned
   * @param isWritten whether all was written
   * @param written the dimensions of the value
   * @return whether the buffer holds it: no other call wrote meanwhile, and nothing was lost
   */
  boolean endWrite(long begun, boolean isWritten, Shape written) {
    synchronized (lock) {
      writers--;
      initialised = isWritten && version == begun && writers == 0;
      if (initialised) {
        shape = written;
      }
      return initialised;
    }
  }

  /** Marks the contents as lost with the device's memory. */
  void lose() {
    synchronized (lock) {
      initialised = false;
      version++;
    }
  }

  @Override
  public void copyTo(SharedMemory destination) throws DeviceException {
    use();
    try (SharedMemory.Lease _ = lend(destination)) {
      if (!isOpen()) {
        checkSize(destination, plan.bytes());
      }
      if (destination.isReadOnly()) {
        throw DeviceException.invalid("the memory to copy to cannot be written");
      }
      long version = beginRead();
      MemorySegment contents = bytes();
      checkSize(destination, contents.byteSize());
      BulkCopy.copy(contents, 0, destination.segment(), 0, contents.byteSize());
      if (!isUnchanged(version)) {
        throw DeviceException.failure(name() + " was written or lost while it was copied");
      }
    } finally {
      release();
    }
  }

  @Override
  public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
    use();
    try {
      long begun = beginWrite();
      boolean isCopied = false;
      boolean holds;
      try (SharedMemory.Lease _ = lend(source)) {
        checkShape(shape);
        checkSize(source, isOpen() ? BufferPlan.bytes(declared(), shape) : plan.bytes());
        MemorySegment contents = isOpen() ? resize(shape) : bytes();
        BulkCopy.copy(source.segment(), 0, contents, 0, source.size());
        isCopied = true;
      } finally {
        holds = endWrite(begun, isCopied, isOpen() ? shape : declared().shape());
      }
      if (!holds) {
        throw DeviceException.failure(name() + " was written or lost while it was copied to");
      }
    } finally {
      release();
    }
  }

  private SharedMemory.Lease lend(SharedMemory memory) throws DeviceException {
    MemoryKind kind = memory.kind();
    if (!tracker.info().memoryKinds().contains(kind)) {
      throw DeviceException.failure(
          tracker.info().name() + " cannot read " + kind.halName() + " memory");
    }
    try {
      return memory.lend();
    } catch (IllegalStateException e) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "the memory to copy with is closed", e);
    }
  }

  private void checkSize(SharedMemory other, long bytes) throws DeviceException {
    if (other.size() != bytes) {
      throw DeviceException.invalid(
          name() + " takes " + bytes + " bytes, the memory to copy with has " + other.size());
    }
  }

  private void checkShape(Shape given) throws DeviceException {
    Shape own = declared().shape();
    boolean fits =
        isOpen()
            ? given.rank() > 0 && given.isFullySpecified() && own.combine(given).isPresent()
            : given.rank() == 0 || given.equals(own);
    if (!fits) {
      throw DeviceException.invalid(name() + " is " + own + ", what is copied to it " + given);
    }
  }

  private String name() {
    return "buffer " + token + " of " + tracker.info().name();
  }

  @Override
  public String toString() {
    return name();
  }

  /** Ends the buffer; its bytes stay until their last use ends. Calling it again does nothing. */
  @Override
  public void close() {
    if (uses.close()) {
      tracker.free(this);
    }
  }
}
