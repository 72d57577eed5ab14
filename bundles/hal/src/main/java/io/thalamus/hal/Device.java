// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import java.util.BitSet;
import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A device that prepares and executes models. Registered as a singleton OSGi service; its
 * unregistration is the notice of its departure.
 *
 * <p>Thread-safe. A device reads the models and memories that it is given until the call returns,
 * and those of a prepared model until that is closed; it owns what it allocates itself.
 */
@ConsumerType
public interface Device {
  /** The facts of the device; constant while it is registered. */
  DeviceInfo info();

  /**
   * Returns the operations of the main graph that the device executes, by index. True is a promise:
   * a model of only such operations can be prepared. IF and WHILE are supported only where all
   * operations that they refer to are.
   *
   * @throws DeviceException with INVALID_ARGUMENT where the model is invalid
   */
  BitSet supportedOperations(Model model) throws DeviceException;

  /**
   * Compiles a model. Trouble with the cache files of {@code config} never fails a prepare; it only
   * makes a later {@link #prepareFromCache} fail.
   *
   * @throws DeviceException with INVALID_ARGUMENT for an invalid or unsupported model,
   *     MISSED_DEADLINE_* where the deadline passed, GENERAL_FAILURE for a constant in memory that
   *     the device cannot read
   */
  PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException;

  /**
   * Restores a model that {@link #prepare} stored under the same token.
   *
   * @throws DeviceException with GENERAL_FAILURE where the cache does not hold it untouched, or the
   *     device does not cache
   */
  default PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    throw DeviceException.failure(info().name() + " does not cache compilations");
  }

  /**
   * Allocates memory of the device's own for arguments of its prepared models. Roles and descriptor
   * must agree on type and quantization, and on all dimensions that they state.
   *
   * @param roles what the buffer will be used for, at least one; a role given twice is refused
   * @throws DeviceException with INVALID_ARGUMENT for contradicting roles or foreign models,
   *     GENERAL_FAILURE where the device has no such memory, or cannot have it for this type or for
   *     a size that is not known, RESOURCE_EXHAUSTED_* where there is no room
   */
  default DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    throw DeviceException.failure(info().name() + " has no memory of its own");
  }
}
