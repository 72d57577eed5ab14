// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Races for a {@link MessageQueue}: messages come whole and once, and no wake-up is lost. */
public final class MessageQueueStress {
  /** So long that a wait that ends by it has lost its wake-up. */
  private static final long NEVER = TimeUnit.SECONDS.toNanos(2);

  /** Once something is lost there is no reason to wait so long again. */
  private static final AtomicLong PATIENCE = new AtomicLong(NEVER);

  private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int INTERRUPTED = -2;
  private static final int LOST = -3;

  private MessageQueueStress() {}

  /** A queue of one message, which goes on where another state left it. */
  abstract static class OneMessage {
    /** Memory costs files: it is used again. */
    private static final Queue<MessageQueue> FREE = new ConcurrentLinkedQueue<>();

    final MessageQueue queue;
    final Message written = new Message();
    final Message read = new Message();

    OneMessage() {
      MessageQueue free = FREE.poll();
      queue = free == null ? MessageQueue.allocate(Message.ELEMENTS, Message.ELEMENT_SIZE) : free;
    }

    final int write(int value) {
      written.fill(value);
      return queue.write(written.segment, Message.ELEMENTS) ? value : 0;
    }

    final int writeInPlace(int value) {
      if (!queue.beginWrite(Message.ELEMENTS)) {
        return 0;
      }
      for (int i = 0; i < Message.LONGS; i++) {
        long offset = queue.offset(i * Long.BYTES / Message.ELEMENT_SIZE);
        queue.segment().set(Message.LONG, offset + i * Long.BYTES % Message.ELEMENT_SIZE, value);
      }
      queue.commitWrite(Message.ELEMENTS);
      return value;
    }

    final int read() {
      return queue.read(read.segment, Message.ELEMENTS) ? read.value() : 0;
    }

    /** Waits, and returns what follows, or that all patience was lost with the wake-up. */
    static int orLost(LongPredicate await, IntSupplier then) {
      long patience = PATIENCE.get();
      long start = System.nanoTime();
      if (await.test(patience) && System.nanoTime() - start < patience) {
        return then.getAsInt();
      }
      PATIENCE.set(SHORT);
      return LOST;
    }

    /** Takes what is left, and gives the queue to the next state. */
    final int end() {
      int left = read();
      FREE.add(queue);
      return left;
    }
  }

  /** A message is read while it is written. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "read later")
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "read at once, and whole")
  @State
  public static class WriteAndRead extends OneMessage {
    @Actor
    public void writer() {
      write(1);
    }

    @Actor
    public void reader(II_Result r) {
      r.r1 = read();
    }

    @Arbiter
    public void end(II_Result r) {
      r.r2 = end();
    }
  }

  /** The same in place. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "read later")
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "read at once, and whole")
  @State
  public static class WriteInPlaceAndRead extends OneMessage {
    @Actor
    public void writer() {
      writeInPlace(1);
    }

    @Actor
    public void reader(II_Result r) {
      r.r1 = read();
    }

    @Arbiter
    public void end(II_Result r) {
      r.r2 = end();
    }
  }

  /** The room of a message is used again while it is read. */
  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "no room yet")
  @Outcome(id = "1, 2", expect = Expect.ACCEPTABLE, desc = "the next one came after it")
  @State
  public static class ReadAndOverwrite extends OneMessage {
    public ReadAndOverwrite() {
      write(1);
    }

    @Actor
    public void writer() {
      writeInPlace(2);
    }

    @Actor
    public void reader(II_Result r) {
      r.r1 = read();
    }

    @Arbiter
    public void end(II_Result r) {
      r.r2 = end();
    }
  }

  /** The reader goes to sleep while the writer writes. */
  @JCStressTest
  @Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "woken")
  @State
  public static class WriteAndSleep extends OneMessage {
    @Actor
    public void writer() {
      write(1);
    }

    @Actor
    public void reader(I_Result r) {
      r.r1 = orLost(nanos -> queue.awaitReadable(Message.ELEMENTS, 0, nanos), this::read);
    }

    @Arbiter
    public void end(I_Result r) {
      end();
    }
  }

  /** The writer goes to sleep while the reader reads. */
  @JCStressTest
  @Outcome(id = "1, 2", expect = Expect.ACCEPTABLE, desc = "woken")
  @State
  public static class ReadAndSleep extends OneMessage {
    public ReadAndSleep() {
      write(1);
    }

    @Actor
    public void writer(II_Result r) {
      r.r2 = orLost(nanos -> queue.awaitWritable(Message.ELEMENTS, 0, nanos), () -> write(2));
    }

    @Actor
    public void reader(II_Result r) {
      r.r1 = read();
    }

    @Arbiter
    public void end(II_Result r) {
      end();
    }
  }

  /** The reader goes to sleep while it is interrupted. */
  @JCStressTest
  @Outcome(id = "-2", expect = Expect.ACCEPTABLE, desc = "at once")
  @State
  public static class InterruptAndSleep extends OneMessage {
    private final MessageQueue reader =
        MessageQueue.map(queue.memory(), Message.ELEMENTS, Message.ELEMENT_SIZE);

    @Actor
    public void interrupt() {
      reader.interrupt();
    }

    @Actor
    public void sleep(I_Result r) {
      r.r1 = orLost(nanos -> !reader.awaitReadable(1, 0, nanos), () -> INTERRUPTED);
    }

    @Arbiter
    public void end(I_Result r) {
      reader.close();
      end();
    }
  }
}
