// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.host;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.isolation.wire.PendingReply;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;

/**
 * A burst that the device serves for a client in the container. Thread-safe; owned by the host.
 * Owns what is mapped for it.
 */
final class HostedBurst implements AutoCloseable {
  private static final long PATIENCE_NANOS = Duration.ofSeconds(10).toNanos();

  private final int id;
  private final Connection connection;
  private final Path folder;
  private final IntFunction<DeviceBuffer> buffers;
  private final MappedMemories channels;
  private final Map<Integer, SharedMemory> slots = new ConcurrentHashMap<>();

  /** Tokens of buffers that the client has. */
  private final Set<Integer> tokens = ConcurrentHashMap.newKeySet();

  /** Null until the device serves it. */
  private volatile BurstContext context;

  /**
   * A burst that is not served yet.
   *
   * @param buffers finds a buffer of the device by its token; returns null when there is none
   * @param channels the queues of requests and results, and in version 2 the control page
   */
  HostedBurst(
      int id,
      Connection connection,
      Path folder,
      IntFunction<DeviceBuffer> buffers,
      MappedMemories channels) {
    this.id = id;
    this.connection = connection;
    this.folder = folder;
    this.buffers = buffers;
    this.channels = channels;
  }

  /** Reads one of its queues. */
  QueueDescriptor queue(int index, Decoder in) throws WireFormatException {
    return new QueueDescriptor(channels.list().get(index), in.int32(), in.int32());
  }

  /**
   * Has a model serve it.
   *
   * @throws DeviceException as the model does; the burst is then closed
   */
  void open(
      PreparedModel model, QueueDescriptor requests, QueueDescriptor results, Duration pollWindow)
      throws DeviceException {
    BurstConfig.Protocol protocol =
        channels.list().size() > 2
            ? new BurstConfig.Version2(channels.list().get(2), this::buffer)
            : BurstConfig.Protocol.HAL_1_2;
    try {
      context =
          model.configureExecutionBurst(
              new BurstConfig(this::memories, requests, results, protocol, pollWindow));
    } finally {
      if (context == null) {
        close();
      }
    }
  }

  /** Asks the client for its memories, and maps them. */
  private List<SharedMemory> memories(int[] numbers) throws DeviceException {
    List<SharedMemoryHandle> handles =
        ask(
            MessageType.BURST_MEMORIES,
            new Encoder().int32(id).ints(numbers),
            in -> in.list(MemoryCodec::handle));
    if (handles.size() != numbers.length) {
      throw DeviceException.invalid(
          handles.size() + " memories are in " + numbers.length + " slots");
    }
    try {
      List<SharedMemory> mapped = MappedMemories.map(handles, folder).list();
      for (int i = 0; i < numbers.length; i++) {
        Optional.ofNullable(slots.put(numbers[i], mapped.get(i))).ifPresent(SharedMemory::close);
      }
      return mapped;
    } catch (SharedMemoryException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, e.getMessage(), e);
    }
  }

  /** Returns a buffer that the client has; null when it has none of this token. */
  private DeviceBuffer buffer(int token) {
    DeviceBuffer buffer = buffers.apply(token);
    if (buffer == null || tokens.contains(token)) {
      return buffer;
    }
    try {
      if (!ask(MessageType.BURST_BUFFER, new Encoder().int32(id).int32(token), Decoder::bool)) {
        return null;
      }
    } catch (DeviceException e) {
      // The client is gone, and nothing is its own any more.
      return null;
    }
    tokens.add(token);
    return buffer;
  }

  private <T> T ask(MessageType type, Encoder body, Decoder.Element<T> element)
      throws DeviceException {
    PendingReply reply = connection.call(type, body);
    if (!reply.await(PATIENCE_NANOS)) {
      throw DeviceException.failure("the container does not answer " + type);
    }
    try {
      return reply.get().all(element);
    } catch (WireFormatException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, e.getMessage(), e);
    }
  }

  /** Forgets the memory in a slot. */
  void freeMemory(int slot) {
    BurstContext served = context;
    if (served != null) {
      served.freeMemory(slot);
    }
    // The device keeps it mapped as long as it uses it.
    Optional.ofNullable(slots.remove(slot)).ifPresent(SharedMemory::close);
  }

  @Override
  public void close() {
    BurstContext served = context;
    if (served != null) {
      served.close();
    }
    slots.values().forEach(SharedMemory::close);
    slots.clear();
    channels.close();
  }
}
