// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.host;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;

/**
 * The models and buffers that a caller names and that are none of the device's: the device refuses
 * them itself, in the order of its other checks. Stateless.
 */
final class Foreign {
  private static final String REASON = "this device knows nothing of it";

  private Foreign() {}

  private static DeviceException refusal() {
    return DeviceException.invalid(REASON);
  }

  static PreparedModel model() {
    return new PreparedModel() {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig config) {
        return new ExecutionResult.Failed(ErrorStatus.INVALID_ARGUMENT, REASON);
      }

      @Override
      public void close() {
        // It holds nothing.
      }
    };
  }

  static DeviceBuffer buffer(int token) {
    return new DeviceBuffer() {
      @Override
      public int token() {
        return token;
      }

      @Override
      public void copyTo(SharedMemory destination) throws DeviceException {
        throw refusal();
      }

      @Override
      public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
        throw refusal();
      }

      @Override
      public void close() {
        // It holds nothing.
      }
    };
  }
}
