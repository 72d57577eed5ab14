// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A buffer that a remote device allocated. Thread-safe. When the process of the device ends, it
 * holds nothing.
 */
final class RemoteBuffer implements DeviceBuffer {
  private final RemoteDevice device;
  private final int token;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  RemoteBuffer(RemoteDevice device, int token) {
    this.device = device;
    this.token = token;
  }

  boolean isOf(RemoteDevice other) {
    return device == other;
  }

  @Override
  public int token() {
    return token;
  }

  @Override
  public void copyTo(SharedMemory destination) throws DeviceException {
    try (Lending lending = device.lend(List.of(destination))) {
      Encoder body = new Encoder().int32(token);
      lending.write(body);
      device.call(MessageType.COPY_TO, body);
      lending.copyBack(0, 0, destination.size());
    }
  }

  @Override
  public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
    try (Lending lending = device.lend(List.of(source))) {
      Encoder body = new Encoder().int32(token);
      lending.write(body);
      GraphCodec.writeShape(body, shape);
      device.call(MessageType.COPY_FROM, body);
    }
  }

  @Override
  public void close() {
    if (isClosed.compareAndSet(false, true)) {
      device.close(this);
    }
  }
}
