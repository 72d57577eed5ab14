// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

/** A resource of a device, which its departure closes at the latest. Thread-safe. */
sealed interface DeviceResource extends AutoCloseable
    permits DevicePreparedModel, DeviceMemory, DeviceBurst {
  @Override
  void close();
}
