// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.burst.packet.ControlPage;
import io.thalamus.burst.packet.ResultEncoder;
import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.wire.Encoder;
import java.lang.System.Logger.Level;

/**
 * A burst that a remote device serves. Thread-safe; closed by whoever opened it. When the process
 * of the device ends, this says so to the client in its stead.
 */
final class RemoteBurst implements BurstContext {
  private static final System.Logger LOG = System.getLogger(RemoteBurst.class.getPackageName());

  private final RemoteDevice device;
  private final int id;
  private final BurstConfig config;
  private boolean isClosed;

  RemoteBurst(RemoteDevice device, int id, BurstConfig config) {
    this.device = device;
    this.id = id;
    this.config = config;
  }

  /** Asks the client for the memories in its slots; the answer is how the device maps them. */
  Encoder memories(int[] slots) throws DeviceException {
    Encoder reply = new Encoder();
    reply.list(
        config.callback().getMemories(slots).stream().map(SharedMemory::describe).toList(),
        MemoryCodec::write);
    return reply;
  }

  /** Tells whether the client has a buffer of this token, which the device knows as well. */
  boolean knows(int token) {
    return config.protocol() instanceof BurstConfig.Version2 version
        && version.buffers().apply(token) instanceof RemoteBuffer own
        && own.isOf(device);
  }

  @Override
  public void freeMemory(int slot) {
    // Waited for: the client may give the slot to another memory at once.
    device.freeBurstMemory(id, slot);
  }

  /** Has the client see that its server is gone: the process ends, or has ended. */
  synchronized void lost() {
    if (!isClosed && config.protocol() instanceof BurstConfig.Version2 version) {
      ControlPage.of(version.control()).end();
    }
  }

  /** Ends the queue of results in the place of a writer that has ended. */
  synchronized void ended() {
    if (isClosed) {
      return;
    }
    lost();
    var channel = config.resultChannel();
    try (MessageQueue results =
        MessageQueue.map(channel.memory(), channel.capacity(), channel.elementSize())) {
      ResultEncoder end = new ResultEncoder(1);
      end.encodeEnd();
      if (results.availableToWrite() > 0) {
        results.write(end.packet().segment(), 1);
      }
    } catch (IllegalStateException | IllegalArgumentException e) {
      LOG.log(Level.DEBUG, "the end of a burst cannot be written: {0}", e.getMessage());
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      if (isClosed) {
        return;
      }
      isClosed = true;
    }
    device.closeBurst(id);
  }
}
