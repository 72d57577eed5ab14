// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.queue;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.BusySpinIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/** Agrona's ring buffers for one writer and one reader, over the same kind of memory. */
final class AgronaEcho implements Echo {
  private static final int TYPE = 1;
  private static final int ROOM = 4096;

  private final SharedMemory thereMemory = memory();
  private final SharedMemory backMemory = memory();
  private final OneToOneRingBuffer there = ring(thereMemory);
  private final OneToOneRingBuffer thereMapped = ring(thereMemory);
  private final OneToOneRingBuffer back = ring(backMemory);
  private final OneToOneRingBuffer backMapped = ring(backMemory);
  private final UnsafeBuffer asked = new UnsafeBuffer(new byte[BYTES]);
  private final UnsafeBuffer answered = new UnsafeBuffer(new byte[BYTES]);
  private final MessageHandler receiveAsked =
      (type, buffer, index, length) -> asked.putBytes(0, buffer, index, length);
  private final MessageHandler receiveAnswered =
      (type, buffer, index, length) -> answered.putBytes(0, buffer, index, length);
  private final IdleStrategy askingIdle;
  private final IdleStrategy answeringIdle;

  AgronaEcho(boolean isSpinning) {
    askingIdle = idle(isSpinning);
    answeringIdle = idle(isSpinning);
  }

  static IdleStrategy idle(boolean isSpinning) {
    return isSpinning ? new BusySpinIdleStrategy() : new BackoffIdleStrategy();
  }

  private static SharedMemory memory() {
    return SharedMemory.allocate(MemoryKind.ASHMEM, ROOM + RingBufferDescriptor.TRAILER_LENGTH);
  }

  private static OneToOneRingBuffer ring(SharedMemory memory) {
    return new OneToOneRingBuffer(new UnsafeBuffer(memory.segment().asByteBuffer()));
  }

  @Override
  public String name() {
    return "agrona";
  }

  @Override
  public int ask(int count) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < WORDS; k++) {
        asked.putLong(k * Long.BYTES, i + k);
      }
      send(there, asked);
      receive(backMapped, receiveAsked, askingIdle);
      for (int k = 0; k < WORDS; k++) {
        wrong += asked.getLong(k * Long.BYTES) == i + k ? 0 : 1;
      }
    }
    return wrong;
  }

  @Override
  public void answer(int count) {
    for (int i = 0; i < count; i++) {
      receive(thereMapped, receiveAnswered, answeringIdle);
      send(back, answered);
    }
  }

  private static void send(OneToOneRingBuffer ring, UnsafeBuffer message) {
    if (!ring.write(TYPE, message, 0, BYTES)) {
      throw new IllegalStateException("no room for one message");
    }
  }

  private static void receive(OneToOneRingBuffer ring, MessageHandler handler, IdleStrategy idle) {
    while (ring.read(handler, 1) == 0) {
      idle.idle();
    }
    idle.reset();
  }

  @Override
  public void close() {
    thereMemory.close();
    backMemory.close();
  }
}
