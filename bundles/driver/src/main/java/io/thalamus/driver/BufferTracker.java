// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Subgraph;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/**
 * The buffers of one device. Thread-safe. Owned by the device, which closes it in its deactivation:
 * then all buffers are closed, and each is freed as soon as no execution uses it. Tokens begin at
 * 1; the token that was freed last is reused first.
 */
public final class BufferTracker implements AutoCloseable {
  private final DeviceInfo info;
  private final BufferMemory.Source source;

  /** The buffers by token; null for a free one. The first place is never used. */
  private final List<ManagedBuffer> buffers = new ArrayList<>();

  private final ArrayDeque<Integer> freed = new ArrayDeque<>();
  private boolean closed;

  /**
   * Creates a tracker for a device without buffers.
   *
   * @param source of the memory for buffers
   */
  public BufferTracker(DeviceInfo info, BufferMemory.Source source) {
    this.info = Objects.requireNonNull(info, "info");
    this.source = Objects.requireNonNull(source, "source");
    buffers.add(null);
  }

  DeviceInfo info() {
    return info;
  }

  /**
   * Allocates a buffer, as {@link io.thalamus.hal.Device#allocate} demands.
   *
   * @param graphs the main graph of a prepared model; empty if the device did not prepare it
   * @throws DeviceException with INVALID_ARGUMENT for contradicting roles, GENERAL_FAILURE for a
   *     buffer of unknown size or after {@link #close}, RESOURCE_EXHAUSTED_* if there is no room
   */
  public DeviceBuffer allocate(
      BufferDesc desc, List<BufferRole> roles, Function<PreparedModel, Optional<Subgraph>> graphs)
      throws DeviceException {
    BufferPlan plan = BufferPlan.of(desc, roles, graphs);
    BufferMemory memory = source.allocate(plan.bytes());
    synchronized (this) {
      if (!closed) {
        Integer free = freed.poll();
        int token = free == null ? buffers.size() : free;
        ManagedBuffer buffer = new ManagedBuffer(this, token, plan, memory);
        if (free == null) {
          buffers.add(buffer);
        } else {
          buffers.set(token, buffer);
        }
        return buffer;
      }
    }
    memory.close();
    throw stopped();
  }

  synchronized boolean isClosed() {
    return closed;
  }

  DeviceException stopped() {
    return new DeviceException(ErrorStatus.GENERAL_FAILURE, info.name() + " has been stopped");
  }

  synchronized void free(ManagedBuffer buffer) {
    buffers.set(buffer.token(), null);
    freed.push(buffer.token());
  }

  private synchronized List<ManagedBuffer> living() {
    return buffers.stream().filter(Objects::nonNull).toList();
  }

  /** Marks the contents of all buffers as lost with the device's memory. */
  public void loseContents() {
    living().forEach(ManagedBuffer::lose);
  }

  /** Closes all buffers, and refuses new ones. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    living().forEach(ManagedBuffer::close);
  }
}
