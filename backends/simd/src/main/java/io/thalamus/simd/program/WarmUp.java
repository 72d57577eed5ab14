// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Says whether a program runs on vectors or on the scalar twins of the kernels, which give the same
 * bits. Belongs to a device; thread-safe.
 *
 * <p>Until the JVM has compiled them, operations on vectors allocate an object for each result, and
 * an execution takes seconds. The scalar twins are fast soon: a model that is executed once is
 * through before vectors would be. From the second execution of a model on, a thread runs it on
 * vectors in a frame of its own, over and over, until that is faster than the scalar twins were;
 * then all executions of steps like these change over. The thread ends with that, or with {@link
 * #close()}.
 *
 * <p>If the JVM does not compile vectors, or the machine has no time for it, they do not become
 * faster: then the scalar twins stay, a line in the log says so, and an execution after a pause
 * begins another attempt.
 */
public final class WarmUp implements AutoCloseable {
  /** Shorter programs are run so long: the JVM compiles what has run often. */
  private static final long LEAST_NANOS = 300_000_000L;

  /** The time after which the scalar twins stay for now if vectors are no faster. */
  private static final long MOST_NANOS = 20_000_000_000L;

  /** From a vain attempt to the next one; doubled with each. */
  private static final long PAUSE_NANOS = 60_000_000_000L;

  private static final System.Logger LOG = System.getLogger(WarmUp.class.getPackageName());

  /** The stages of a device. */
  public enum Stage {
    /** With scalar kernels until vectors are fast. */
    COLD,
    /** Never with vectors. */
    ALWAYS_COLD,
    /** With vectors. */
    ALWAYS_WARM
  }

  private final String name;
  private final Stage stage;
  private final long mostNanos;

  /** The kinds of steps that have been run until they were fast. */
  private final Set<Class<?>> warm = ConcurrentHashMap.newKeySet();

  private volatile long scalarNanos = Long.MAX_VALUE;
  private volatile boolean closed;
  private Thread thread;
  private long pauseNanos = PAUSE_NANOS;

  /**
   * The moment from which the next attempt may begin, by {@link System#nanoTime}; read where there
   * is a pause.
   */
  private long notBefore;

  private boolean isPausing;

  /** A warm-up whose thread, once there is one, has a name. */
  public WarmUp(String name, Stage stage) {
    this(name, stage, MOST_NANOS);
  }

  /** As the other, with the time after which an attempt is vain. */
  public WarmUp(String name, Stage stage, long mostNanos) {
    this.name = name;
    this.stage = stage;
    this.mostNanos = mostNanos;
  }

  /** Returns true if a program runs on vectors. */
  public boolean isWarm(Program program) {
    if (stage != Stage.COLD) {
      return stage == Stage.ALWAYS_WARM;
    }
    List<Step> steps = program.steps();
    for (int i = 0; i < steps.size(); i++) {
      if (!warm.contains(steps.get(i).getClass())) {
        return false;
      }
    }
    return true;
  }

  /** Takes the time of an execution on the scalar twins. */
  public void scalarNanos(long nanos) {
    scalarNanos = nanos;
  }

  /** Begins to warm a program up, unless another one is being warmed up. */
  public synchronized void begin(Program program) {
    if (isPausing && System.nanoTime() - notBefore < 0) {
      return;
    }
    if (stage == Stage.COLD && !closed && (thread == null || !thread.isAlive())) {
      thread = new Thread(() -> run(program), name);
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void run(Program program) {
    Frame frame = new Frame(program, 1);
    long start = System.nanoTime();
    long end;
    long last;
    do {
      long before = System.nanoTime();
      for (Step step : program.steps()) {
        for (int tile = 0; tile < step.tiles(); tile++) {
          if (closed) {
            return;
          }
          step.run(frame, frame.scratch(0), tile);
        }
      }
      end = System.nanoTime();
      last = end - before;
    } while (end - start < LEAST_NANOS || (last >= scalarNanos && end - start < mostNanos));
    if (last < scalarNanos) {
      for (Step step : program.steps()) {
        warm.add(step.getClass());
      }
    } else {
      pause();
    }
  }

  private synchronized void pause() {
    LOG.log(
        System.Logger.Level.WARNING,
        "vectors are no faster than scalar kernels after {0} s, which go on; next attempt in {1} s",
        mostNanos / 1_000_000_000L,
        pauseNanos / 1_000_000_000L);
    isPausing = true;
    notBefore = System.nanoTime() + pauseNanos;
    pauseNanos *= 2;
  }

  /** Ends the thread and waits for it; nothing begins any more. */
  @Override
  public void close() {
    Thread running;
    synchronized (this) {
      closed = true;
      running = thread;
    }
    boolean interrupted = false;
    while (running != null && running.isAlive()) {
      try {
        running.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
