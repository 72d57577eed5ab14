// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.BitSet;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;

/**
 * Memory of both processes, through which the controls of running calls reach the device. Each call
 * has two words: a signal, which the container writes and the device reads at its checkpoints, and
 * a count of these checkpoints, which shows the container that the device is at work. Thread-safe;
 * owned by its side of the connection.
 *
 * <pre>
 *   0      signals, one int for each call
 *   4096   checkpoints, one int for each call
 * </pre>
 */
public final class CallPage implements AutoCloseable {
  private static final int CALLS = 1024;
  private static final long CHECKPOINTS = 4L * CALLS;

  /** The bytes of a page. */
  public static final long SIZE = 8L * CALLS;

  private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

  private static final int CONTINUE = 0;
  private static final int CANCELLED = 1;
  private static final int DEADLINE = 2;
  private static final int WAIT = 3;

  private static final long WAIT_NANOS = 20_000;

  private final SharedMemory memory;
  private final MemorySegment words;
  private final BitSet taken = new BitSet(CALLS);

  /**
   * The page in memory that the other process allocated.
   *
   * @throws IllegalArgumentException where the memory is no such page
   */
  public CallPage(SharedMemory memory) {
    if (memory.size() != SIZE) {
      throw new IllegalArgumentException("a page of calls has " + SIZE + " bytes");
    }
    this.memory = memory;
    this.words = memory.segment();
  }

  /** Allocates a page. */
  public static CallPage allocate() {
    return new CallPage(SharedMemory.allocate(MemoryKind.ASHMEM, SIZE));
  }

  /** Returns the memory, which this owns. */
  public SharedMemory memory() {
    return memory;
  }

  /** Takes words for a call; empty where all are taken. */
  public OptionalInt take() {
    synchronized (taken) {
      int index = taken.nextClearBit(0);
      if (index >= CALLS) {
        return OptionalInt.empty();
      }
      taken.set(index);
      WORD.setRelease(words, 4L * index, CONTINUE);
      return OptionalInt.of(index);
    }
  }

  /** Gives the words of a call back. */
  public void giveBack(int index) {
    synchronized (taken) {
      taken.clear(index);
    }
  }

  /**
   * Asks a control, and passes its signal on. The device waits at its checkpoints meanwhile, so
   * that a control which pauses its caller pauses the device. No checkpoint is passed unless it
   * pauses: a control may share the processor of the thread that calls it, and the device works in
   * another one.
   */
  public ExecutionControl.Signal pass(int index, ExecutionControl control) {
    // Release: whoever reads the signal sees what was written before.
    WORD.setRelease(words, 4L * index, WAIT);
    ExecutionControl.Signal signal = ExecutionControl.Signal.CONTINUE;
    try {
      signal = control.isPauseWanted() ? control.checkpoint() : control.status();
    } finally {
      WORD.setRelease(words, 4L * index, word(signal));
    }
    return signal;
  }

  private static int word(ExecutionControl.Signal signal) {
    return switch (signal) {
      case CONTINUE -> CONTINUE;
      case CANCELLED -> CANCELLED;
      case DEADLINE -> DEADLINE;
    };
  }

  /** Returns how often the device has asked about a call, or about earlier ones there. */
  public int checkpoints(int index) {
    return (int) WORD.getOpaque(words, CHECKPOINTS + 4L * index);
  }

  /**
   * Returns the control of a call, for its device.
   *
   * @throws IllegalArgumentException where no call can have this number
   */
  public ExecutionControl control(int index) {
    if (index < 0 || index >= CALLS) {
      throw new IllegalArgumentException("no call has the control " + index);
    }
    return () -> checkpoint(index);
  }

  private ExecutionControl.Signal checkpoint(int index) {
    // One of several threads may be missed, which is enough for a sign of life.
    WORD.setOpaque(words, CHECKPOINTS + 4L * index, checkpoints(index) + 1);
    while (true) {
      switch ((int) WORD.getAcquire(words, 4L * index)) {
        case CANCELLED -> {
          return ExecutionControl.Signal.CANCELLED;
        }
        case DEADLINE -> {
          return ExecutionControl.Signal.DEADLINE;
        }
        case WAIT -> LockSupport.parkNanos(WAIT_NANOS);
        default -> {
          return ExecutionControl.Signal.CONTINUE;
        }
      }
    }
  }

  @Override
  public void close() {
    memory.close();
  }
}
