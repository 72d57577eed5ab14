// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.BulkCopy;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;

/**
 * The caller's own segment of one argument. Devices that take pointers read and write it in place.
 * The first step on any other device stages it: from then on the value is in shared memory until
 * the execution ends. Used by the one thread that executes.
 */
final class CallerPool extends Pool {
  private final Slot slot;
  private final MemorySegment segment;
  private final Pool scratch;
  private final long offset;
  private final long scratchBytes;
  private final CopyCount copies;
  private boolean isStaged;

  /**
   * A segment in place.
   *
   * @param slot of the argument
   * @param segment aligned for the operand, off the heap; read-only for an input
   * @param scratch where it is staged when a device needs that
   * @param offset of its room there
   * @param scratchBytes that all arguments together need there
   * @param copies counts what staging copies
   */
  CallerPool(
      Slot slot,
      MemorySegment segment,
      Pool scratch,
      long offset,
      long scratchBytes,
      CopyCount copies) {
    this.slot = slot;
    this.segment = segment;
    this.scratch = scratch;
    this.offset = offset;
    this.scratchBytes = scratchBytes;
    this.copies = copies;
  }

  /** Returns whether the value is in shared memory, not in the caller's segment. */
  boolean isStaged() {
    return isStaged;
  }

  /**
   * Moves the value to shared memory; does nothing when it is there.
   *
   * @param isRead whether the step that needs it reads it; otherwise it writes all of it
   * @param bytes of the value
   */
  void stage(boolean isRead, long bytes) throws NeuralNetworksException {
    if (isStaged) {
      return;
    }
    if (isClosed()) {
      throw closed(null);
    }
    scratch.reserve(scratchBytes);
    if (isRead) {
      try {
        BulkCopy.copy(segment, 0, scratch.segment(), offset, bytes);
      } catch (IllegalStateException e) {
        throw closed(e);
      }
      copies.argumentsIn += bytes;
    }
    isStaged = true;
  }

  /**
   * Returns whether the caller has closed its memory, so that every access in place fails: that is
   * no fault of a device.
   */
  boolean isClosed() {
    return !isStaged && !segment.scope().isAlive();
  }

  /** Returns what the caller learns when it has closed its memory. */
  String closedMessage() {
    return slot + " stands in memory that is closed";
  }

  private NeuralNetworksException closed(Throwable cause) {
    return new NeuralNetworksException(ResultCode.BAD_DATA, closedMessage(), cause);
  }

  @Override
  SharedMemory memory() {
    return scratch.memory();
  }

  @Override
  long base() {
    return offset;
  }

  @Override
  MemorySegment segment() {
    return isStaged ? scratch.segment().asSlice(offset, segment.byteSize()) : segment;
  }
}
