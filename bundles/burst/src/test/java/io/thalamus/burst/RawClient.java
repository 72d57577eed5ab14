// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.packet.Datums;
import io.thalamus.burst.packet.RequestEncoder;
import io.thalamus.burst.packet.ResultDecoder;
import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Protocol;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A client that writes any packet: it has both queues and a table of memories, and no more. */
final class RawClient implements BurstCallback, AutoCloseable {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);

  final MessageQueue requests;
  final MessageQueue results;
  final SharedMemory page = SharedMemory.allocate(MemoryKind.ASHMEM, 4096);
  final Map<Integer, SharedMemory> memories = new HashMap<>();

  /** The requests of the server, as text. */
  final List<String> asked = new ArrayList<>();

  private final int version;

  RawClient(int version, int resultLength) {
    this.version = version;
    this.requests = MessageQueue.allocate(128, 24);
    this.results = MessageQueue.allocate(resultLength, 24);
  }

  BurstConfig config() {
    Protocol protocol =
        version == 1 ? Protocol.HAL_1_2 : new BurstConfig.Version2(page, token -> null);
    return new BurstConfig(
        this,
        new QueueDescriptor(requests.memory(), requests.capacity(), 24),
        new QueueDescriptor(results.memory(), results.capacity(), 24),
        protocol,
        Duration.ofNanos(20_000));
  }

  @Override
  public List<SharedMemory> getMemories(int[] slots) throws DeviceException {
    asked.add(java.util.Arrays.toString(slots));
    List<SharedMemory> found = new ArrayList<>();
    for (int slot : slots) {
      if (!memories.containsKey(slot)) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "no slot " + slot);
      }
      found.add(memories.get(slot));
    }
    return found;
  }

  /** Returns a good packet. */
  Datums packet(Request request, int... slots) {
    RequestEncoder encoder = new RequestEncoder(version);
    assertTrue(encoder.encode(request, slots));
    assertTrue(encoder.encode(ExecutionConfig.DEFAULT.withMeasureTiming(true), true));
    return encoder.packet();
  }

  void send(Datums packet) {
    assertTrue(requests.writeBlocking(packet.segment(), packet.count(), PATIENCE));
  }

  /** Reads all that is there as one packet, as AOSP's clients do. */
  Datums read() {
    assertTrue(results.awaitReadable(1, 0, PATIENCE), "the server does not answer");
    Datums packet = new Datums();
    packet.resize(results.availableToRead());
    assertTrue(results.read(packet.segment(), packet.count()));
    return packet;
  }

  ExecutionResult receive() {
    return new ResultDecoder(version).decode(read());
  }

  @Override
  public void close() {
    requests.close();
    results.close();
    page.close();
  }
}
