// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.queue;

import org.agrona.concurrent.IdleStrategy;
import org.jctools.queues.SpscArrayQueue;

/** JCTools' queue for one writer and one reader; it passes references, within one process. */
final class JcToolsEcho implements Echo {
  private static final int CAPACITY = 64;

  private final SpscArrayQueue<long[]> there = new SpscArrayQueue<>(CAPACITY);
  private final SpscArrayQueue<long[]> back = new SpscArrayQueue<>(CAPACITY);
  private final long[] asked = new long[WORDS];
  private final long[] answered = new long[WORDS];
  private final IdleStrategy askingIdle;
  private final IdleStrategy answeringIdle;

  JcToolsEcho(boolean isSpinning) {
    askingIdle = AgronaEcho.idle(isSpinning);
    answeringIdle = AgronaEcho.idle(isSpinning);
  }

  @Override
  public String name() {
    return "jctools";
  }

  @Override
  public int ask(int count) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < WORDS; k++) {
        asked[k] = i + k;
      }
      there.offer(asked);
      long[] message = receive(back, askingIdle);
      for (int k = 0; k < WORDS; k++) {
        wrong += message[k] == i + k ? 0 : 1;
      }
    }
    return wrong;
  }

  @Override
  public void answer(int count) {
    for (int i = 0; i < count; i++) {
      System.arraycopy(receive(there, answeringIdle), 0, answered, 0, WORDS);
      back.offer(answered);
    }
  }

  private static long[] receive(SpscArrayQueue<long[]> queue, IdleStrategy idle) {
    while (true) {
      long[] message = queue.poll();
      if (message != null) {
        idle.reset();
        return message;
      }
      idle.idle();
    }
  }

  @Override
  public void close() {
    // Nothing but heap.
  }
}
