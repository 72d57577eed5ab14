// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Memory of a device for declared roles. Thread-safe; owned by whoever allocated it, who closes it;
 * what executions use at that time stays until they end. It ends with its device at the latest.
 *
 * <p>An execution names it by a {@link MemoryPool.Device} that holds this very object, with offset
 * and length 0. It holds something once a copy into it, or an execution that writes it, has
 * succeeded; as soon as the next one begins, it holds nothing until that succeeds. A device that
 * loses the contents of its memory says that the buffer holds nothing, and never gives out stale
 * ones. Its user orders writes and reads; any number of executions may read it at once.
 */
@ConsumerType
public interface DeviceBuffer extends AutoCloseable {
  /** Positive, and unique among the live buffers of its device. */
  int token();

  /**
   * Copies the contents out, into memory of exactly their size.
   *
   * @throws DeviceException with GENERAL_FAILURE where the buffer holds nothing yet,
   *     INVALID_ARGUMENT where the sizes differ
   */
  void copyTo(SharedMemory destination) throws DeviceException;

  /**
   * Copies contents in, from memory of exactly their size. If that fails, the buffer holds nothing.
   *
   * @param shape the dimensions of what is copied; {@link Shape#NONE} where the buffer knows them
   * @throws DeviceException with INVALID_ARGUMENT where size or dimensions do not fit
   */
  void copyFrom(SharedMemory source, Shape shape) throws DeviceException;

  /** Gives the memory back. Calling it again does nothing. */
  @Override
  void close();
}
