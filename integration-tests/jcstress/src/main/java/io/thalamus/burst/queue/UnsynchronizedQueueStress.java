// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Races for an {@link UnsynchronizedQueue}: no reader sees half a message. */
public final class UnsynchronizedQueueStress {
  private UnsynchronizedQueueStress() {}

  /** A queue of two messages, which goes on where another state left it, and one reader. */
  abstract static class TwoMessages {
    /** Memory costs files: it is used again. */
    private static final Queue<UnsynchronizedQueue> FREE = new ConcurrentLinkedQueue<>();

    final UnsynchronizedQueue queue;
    final UnsynchronizedQueue.Reader reader;
    private final Message written = new Message();
    private final Message read = new Message();

    TwoMessages() {
      UnsynchronizedQueue free = FREE.poll();
      queue =
          free == null
              ? UnsynchronizedQueue.allocate(2 * Message.ELEMENTS, Message.ELEMENT_SIZE)
              : free;
      reader = queue.reader();
    }

    final void write(int value) {
      written.fill(value);
      queue.write(written.segment, Message.ELEMENTS);
    }

    final int read() {
      return reader.read(read.segment, Message.ELEMENTS) ? read.value() : 0;
    }

    final void end() {
      FREE.add(queue);
    }
  }

  /** A message is read while it is written. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "read later")
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "read at once, and whole")
  @State
  public static class WriteAndRead extends TwoMessages {
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
      r.r2 = read();
      end();
    }
  }

  /** A message is overwritten while it is read. */
  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "read in time")
  @Outcome(
      id = {"3, 2", "4, 3"},
      expect = Expect.ACCEPTABLE,
      desc = "the newest instead")
  @Outcome(
      id = {"0, 1", "0, 2", "0, 3"},
      expect = Expect.ACCEPTABLE,
      desc = "overwritten meanwhile, and said")
  @State
  public static class OverwriteAndRead extends TwoMessages {
    public OverwriteAndRead() {
      write(1);
      write(2);
    }

    @Actor
    public void writer() {
      write(3);
      write(4);
    }

    @Actor
    public void reader(II_Result r) {
      r.r1 = read();
      r.r2 = (int) reader.lost() / Message.ELEMENTS;
    }

    @Arbiter
    public void end(II_Result r) {
      end();
    }
  }
}
