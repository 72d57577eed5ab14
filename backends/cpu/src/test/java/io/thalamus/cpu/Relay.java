// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.cpu.FaultyBurstDevice.Fault;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A burst that is served by another one behind it, and changes packets on their way. Owns the
 * queues and the burst behind, and two threads, all of which end when it is closed.
 */
final class Relay implements BurstContext {
  private static final int BYTES = 24;
  private static final int REQUEST_VALUE = 4;
  private static final int RESULT_VALUE = 8;
  private static final int POOL = 5;
  private static final int TIMING = 6;
  private static final int OPERAND = 1;
  private static final int TIMING_OF_RESULT = 3;
  private static final int SHORTEST = 2;
  private static final int LAST_SLOT = 1000;
  private static final int SWALLOWED = 30;
  private static final long PAUSE_NANOS = 1_000_000;

  private final Fault fault;
  private final MessageQueue requests;
  private final MessageQueue results;
  private final MessageQueue requestsBehind =
      MessageQueue.allocate(BurstSettings.DEFAULT_QUEUE_LENGTH, BYTES);
  private final MessageQueue resultsBehind =
      MessageQueue.allocate(BurstSettings.DEFAULT_QUEUE_LENGTH, BYTES);
  private final BurstContext behind;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicInteger underWay = new AtomicInteger();
  private final Deque<byte[]> held = new ArrayDeque<>();
  private volatile boolean isClosed;

  Relay(Fault fault, BurstService service, BurstConfig config, PreparedModel model)
      throws DeviceException {
    this.fault = fault;
    try {
      requests = map(config.requestChannel());
      results = map(config.resultChannel());
    } catch (IllegalArgumentException e) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, e.getMessage(), e);
    }
    behind =
        service.serve(
            new BurstConfig(
                config.callback(),
                new QueueDescriptor(requestsBehind.memory(), requestsBehind.capacity(), BYTES),
                new QueueDescriptor(resultsBehind.memory(), resultsBehind.capacity(), BYTES),
                config.protocol(),
                config.pollWindow()),
            model);
    threads.add(Thread.ofPlatform().daemon().start(this::relayRequests));
    threads.add(Thread.ofPlatform().daemon().start(this::relayResults));
  }

  private static MessageQueue map(QueueDescriptor channel) {
    if (channel.elementSize() != BYTES) {
      throw new IllegalArgumentException("elements of " + channel.elementSize() + " bytes");
    }
    return MessageQueue.map(channel.memory(), channel.capacity(), BYTES);
  }

  private static byte[] read(MessageQueue queue, int count) {
    byte[] elements = new byte[BYTES * count];
    queue.read(MemorySegment.ofArray(elements), count);
    return elements;
  }

  private static boolean write(MessageQueue queue, byte[] elements) {
    int count = elements.length / BYTES;
    return queue.writeBlocking(MemorySegment.ofArray(elements), count, Long.MAX_VALUE);
  }

  private static ByteBuffer at(byte[] elements, int index) {
    return ByteBuffer.wrap(elements, BYTES * index, BYTES).slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Hands on all bytes as they are, whether one packet or several. */
  private void relayRequests() {
    for (int i = 1; !isClosed && requests.awaitReadable(1, 0, Long.MAX_VALUE); i++) {
      byte[] elements = read(requests, requests.availableToRead());
      change(elements);
      if (fault != Fault.SWALLOWS_REQUESTS || i % SWALLOWED != 0) {
        underWay.incrementAndGet();
        write(requestsBehind, elements);
      }
    }
  }

  private void change(byte[] elements) {
    int count = elements.length / BYTES;
    if (fault == Fault.BELIEVES_ANY_SIZE && isOnePacket(elements)) {
      at(elements, 0).putInt(REQUEST_VALUE, count);
    }
    for (int i = 0; i < count; i++) {
      ByteBuffer element = at(elements, i);
      if (fault == Fault.TAKES_UNKNOWN_SLOTS_FOR_THE_FIRST
          && element.get(0) == POOL
          && Integer.compareUnsigned(element.getInt(REQUEST_VALUE), LAST_SLOT) > 0) {
        element.putInt(REQUEST_VALUE, 0);
      }
      if (fault == Fault.ALWAYS_TIMES && element.get(0) == TIMING) {
        element.putInt(REQUEST_VALUE, 1);
      }
    }
  }

  private static boolean isOnePacket(byte[] elements) {
    for (int i = 0; i < elements.length; i += BYTES) {
      if ((elements[i] == 0) != (i == 0)) {
        return false;
      }
    }
    return true;
  }

  private void relayResults() {
    while (!isClosed && resultsBehind.awaitReadable(1, 0, Long.MAX_VALUE)) {
      byte[] head = read(resultsBehind, 1);
      int size = Math.max(1, at(head, 0).getInt(RESULT_VALUE));
      byte[] result = Arrays.copyOf(head, BYTES * size);
      System.arraycopy(read(resultsBehind, size - 1), 0, result, BYTES, BYTES * (size - 1));
      relay(result);
    }
  }

  private void relay(byte[] packet) {
    boolean hasRoom = packet.length / BYTES <= results.capacity();
    byte[] result = hasRoom || fault == Fault.DROPS_RESULTS_WITHOUT_ROOM ? packet : failure();
    boolean isMalformed =
        at(result, 0).getInt(RESULT_VALUE + Integer.BYTES) == ErrorStatus.GENERAL_FAILURE.code();
    boolean isFailure =
        isMalformed
            || at(result, 0).getInt(RESULT_VALUE + Integer.BYTES)
                == ErrorStatus.INVALID_ARGUMENT.code();
    int left = underWay.decrementAndGet();
    switch (fault) {
      case ENDS_AT_A_BAD_PACKET -> {
        write(results, result);
        if (isMalformed) {
          requests.interrupt();
        }
      }
      case ANSWERS_OUT_OF_ORDER -> {
        held.push(result);
        while (left == 0 && !held.isEmpty()) {
          write(results, held.pop());
        }
      }
      case ANSWERS_TWICE -> {
        write(results, result);
        write(results, result);
      }
      case TELLS_SHAPES_OF_FAILURES ->
          write(results, isFailure && results.capacity() > SHORTEST ? withShape(result) : result);
      case LEAKS_MEMORY_IN_UNUSED_BYTES -> {
        result[BYTES - 1] = 0x55;
        write(results, result);
      }
      case WRITES_RESULTS_IN_PIECES -> {
        for (int i = 0; i < result.length; i += BYTES) {
          write(results, Arrays.copyOfRange(result, i, i + BYTES));
          LockSupport.parkNanos(PAUSE_NANOS);
        }
      }
      case DROPS_RESULTS_WITHOUT_ROOM -> {
        if (hasRoom) {
          write(results, result);
        }
      }
      default -> write(results, result);
    }
  }

  /** The result of two elements that a request without room for its own gets. */
  private static byte[] failure() {
    byte[] result = new byte[2 * BYTES];
    at(result, 0)
        .putInt(RESULT_VALUE, 2)
        .putInt(RESULT_VALUE + Integer.BYTES, ErrorStatus.GENERAL_FAILURE.code());
    at(result, 1)
        .put(0, (byte) TIMING_OF_RESULT)
        .putLong(RESULT_VALUE, -1)
        .putLong(RESULT_VALUE + Long.BYTES, -1);
    return result;
  }

  /** The result of a failure with the shape of an output. */
  private static byte[] withShape(byte[] result) {
    byte[] more = new byte[result.length + BYTES];
    System.arraycopy(result, 0, more, 0, BYTES);
    System.arraycopy(result, BYTES, more, 2 * BYTES, result.length - BYTES);
    ByteBuffer head = at(more, 0);
    head.putInt(RESULT_VALUE, more.length / BYTES);
    head.putInt(RESULT_VALUE + 2 * Integer.BYTES, 1);
    at(more, 1).put(0, (byte) OPERAND).put(RESULT_VALUE, (byte) 1);
    return more;
  }

  @Override
  public void freeMemory(int slot) {
    behind.freeMemory(slot);
  }

  @Override
  public void close() {
    isClosed = true;
    behind.close();
    List<MessageQueue> queues = List.of(requests, results, requestsBehind, resultsBehind);
    queues.forEach(MessageQueue::interrupt);
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
    queues.forEach(MessageQueue::close);
  }
}
