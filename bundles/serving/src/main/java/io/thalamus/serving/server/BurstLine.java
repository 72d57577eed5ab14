// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.Burst;
import io.thalamus.serving.OpenBurst;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The thread in which the requests of one stream are executed, one after another, and its bursts:
 * one for each version. Both begin with the first request, and end when none has come for a while
 * or the line is closed. The thread is none of those that serve others: it may wait for a device by
 * a system call. Thread-safe.
 */
final class BurstLine implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(BurstLine.class.getPackageName());

  /** What comes less often is no quick succession. */
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Each burst holds the memory of an execution, beside what the compilation holds. */
  private static final int MOST_BURSTS = 8;

  private static final AtomicInteger THREADS = new AtomicInteger();

  private final Semaphore lines;

  // Under the lock of this.
  private final Queue<Runnable> tasks = new ArrayDeque<>();
  private boolean isRunning;
  private boolean isClosed;

  /** Filled by the thread alone; each thread has its own. */
  private volatile Map<LoadedVersion, Open> bursts = new ConcurrentHashMap<>();

  /** A burst, and whose it is. */
  private record Open(String model, String version, Burst burst) {}

  /**
   * A line without a thread yet.
   *
   * @param lines a permit for each thread that there may be
   */
  BurstLine(Semaphore lines) {
    this.lines = lines;
  }

  /**
   * Runs a task behind those that came before.
   *
   * @return false if it does not, since it is closed or there are too many threads
   */
  synchronized boolean execute(Runnable task) {
    if (isClosed || !isRunning && !lines.tryAcquire()) {
      return false;
    }
    tasks.add(task);
    notifyAll();
    if (!isRunning) {
      isRunning = true;
      Thread.ofPlatform()
          .daemon()
          .inheritInheritableThreadLocals(false)
          .name("thalamus-serving-burst-" + THREADS.getAndIncrement())
          .start(this::work);
    }
    return true;
  }

  private void work() {
    for (Runnable task = next(); task != null; task = next()) {
      try {
        task.run();
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "a request of a stream met a fault", e);
      }
    }
  }

  /** Returns the next task; null when there is none any more, and its bursts are closed. */
  private Runnable next() {
    Map<LoadedVersion, Open> last;
    synchronized (this) {
      long end = System.nanoTime() + IDLE_NANOS;
      try {
        for (long left = IDLE_NANOS;
            tasks.isEmpty() && !isClosed && left > 0;
            left = end - System.nanoTime()) {
          wait(left / 1_000_000 + 1);
        }
      } catch (InterruptedException e) {
        // Whoever interrupts it wants its end.
        isClosed = true;
      }
      if (!tasks.isEmpty()) {
        return tasks.remove();
      }
      last = bursts;
      bursts = new ConcurrentHashMap<>();
      isRunning = false;
    }
    last.values().forEach(open -> open.burst().close());
    lines.release();
    return null;
  }

  /** Returns the burst of a version that serves. Called by a task. */
  Burst burst(Version version, LoadedVersion loaded) {
    Open open = bursts.get(loaded);
    if (open == null) {
      // Those of versions that are closed are closed with them.
      bursts.keySet().removeIf(LoadedVersion::isClosed);
      if (bursts.size() == MOST_BURSTS) {
        bursts.remove(bursts.keySet().iterator().next()).burst().close();
      }
      open = new Open(version.model(), version.number(), loaded.compilation().createBurst());
      bursts.put(loaded, open);
    }
    return open.burst();
  }

  /** Returns its bursts that are open. */
  List<OpenBurst> bursts() {
    return bursts.entrySet().stream()
        .filter(each -> !each.getKey().isClosed())
        .map(Map.Entry::getValue)
        .map(each -> new OpenBurst(each.model(), each.version(), each.burst().describe()))
        .toList();
  }

  /** Ends the thread once it has done what has come. */
  @Override
  public synchronized void close() {
    isClosed = true;
    notifyAll();
  }
}
