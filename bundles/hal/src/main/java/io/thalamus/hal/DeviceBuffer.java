// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import org.osgi.annotation.versioning.ConsumerType;

/** Memory of a device for declared roles. Thread-safe; owned by whoever allocated it. */
@ConsumerType
public interface DeviceBuffer extends AutoCloseable {
  /** Positive, and unique among the live buffers of its device. */
  int token();

  /**
   * Copies the contents out.
   *
   * @throws DeviceException with GENERAL_FAILURE where the buffer holds nothing yet,
   *     INVALID_ARGUMENT where the sizes differ
   */
  void copyTo(SharedMemory destination) throws DeviceException;

  /**
   * Copies contents in.
   *
   * @param shape the dimensions of what is copied, where the buffer does not know them
   * @throws DeviceException with INVALID_ARGUMENT where size or dimensions do not fit
   */
  void copyFrom(SharedMemory source, Shape shape) throws DeviceException;

  @Override
  void close();
}
