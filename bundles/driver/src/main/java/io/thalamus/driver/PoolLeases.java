// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.Leases;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;

/** Leases of the memories of models and requests, with the HAL's error for a closed memory. */
final class PoolLeases {
  private PoolLeases() {}

  /**
   * Keeps the constants of a model mapped.
   *
   * @throws DeviceException with GENERAL_FAILURE if one of their memories is closed
   */
  static Leases ofModel(Model model) throws DeviceException {
    try {
      return Leases.of(model.pools());
    } catch (IllegalStateException e) {
      throw closed("constants", e);
    }
  }

  /**
   * Keeps the arguments of a request mapped, except those in buffers.
   *
   * @throws DeviceException with GENERAL_FAILURE if one of their memories is closed
   */
  static Leases ofRequest(Request request) throws DeviceException {
    Leases leases = new Leases();
    try {
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          leases.add(shared.memory());
        }
      }
      return leases;
    } catch (IllegalStateException e) {
      leases.close();
      throw closed("arguments", e);
    }
  }

  private static DeviceException closed(String contents, IllegalStateException cause) {
    return new DeviceException(
        ErrorStatus.GENERAL_FAILURE, "a memory that holds " + contents + " is closed", cause);
  }
}
