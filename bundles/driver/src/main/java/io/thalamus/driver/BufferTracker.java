// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/**
 * The buffers of one device. Thread-safe. Owned by the device, which closes it in its deactivation:
 * then all buffers are closed, and each is freed as soon as no execution uses it. Tokens are drawn
 * at random from all positive numbers, so that nobody guesses the token of another client.
 */
public final class BufferTracker implements AutoCloseable {
  private final DeviceInfo info;
  private final BufferMemory.Source source;

  private final Map<Integer, ManagedBuffer> buffers = new HashMap<>();

  /** Made with the first buffer, since most devices allocate none. */
  private SecureRandom random;

  private boolean closed;

  /**
   * Creates a tracker for a device without buffers.
   *
   * @param source of the memory for buffers
   */
  public BufferTracker(DeviceInfo info, BufferMemory.Source source) {
    this.info = Objects.requireNonNull(info, "info");
    this.source = Objects.requireNonNull(source, "source");
  }

  DeviceInfo info() {
    return info;
  }

  /**
   * Allocates a buffer, as {@link io.thalamus.hal.Device#allocate} demands.
   *
   * @param graphs the main graph of a prepared model; empty if the device did not prepare it
   * @throws DeviceException with INVALID_ARGUMENT for contradicting roles, GENERAL_FAILURE after
   *     {@link #close}, RESOURCE_EXHAUSTED_* if there is no room
   */
  public DeviceBuffer allocate(
      BufferDesc desc, List<BufferRole> roles, Function<PreparedModel, Optional<Subgraph>> graphs)
      throws DeviceException {
    BufferPlan plan = BufferPlan.of(desc, roles, graphs);
    BufferMemory memory = plan.isOpen() ? null : source.allocate(plan.operand(), plan.bytes());
    synchronized (this) {
      if (!closed) {
        ManagedBuffer buffer = new ManagedBuffer(this, newToken(), plan, memory);
        buffers.put(buffer.token(), buffer);
        return buffer;
      }
    }
    if (memory != null) {
      memory.close();
    }
    throw stopped();
  }

  /** Allocates memory for a buffer that grows. */
  BufferMemory allocate(Operand operand, long bytes) throws DeviceException {
    return source.allocate(operand, bytes);
  }

  private int newToken() {
    if (random == null) {
      random = new SecureRandom();
    }
    int token;
    do {
      token = random.nextInt(1, Integer.MAX_VALUE);
    } while (buffers.containsKey(token));
    return token;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  DeviceException stopped() {
    return new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, info.name() + " has been stopped");
  }

  synchronized void free(ManagedBuffer buffer) {
    buffers.remove(buffer.token());
  }

  /** Closes all buffers, and refuses new ones. */
  @Override
  public void close() {
    List<ManagedBuffer> living;
    synchronized (this) {
      closed = true;
      living = List.copyOf(buffers.values());
    }
    living.forEach(ManagedBuffer::close);
  }
}
