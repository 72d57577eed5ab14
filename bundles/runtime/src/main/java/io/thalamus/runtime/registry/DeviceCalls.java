// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.runtime.registry.GuardedCall.End;
import io.thalamus.runtime.registry.GuardedCall.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;
import org.osgi.framework.FrameworkUtil;

/**
 * The calls of one device that are made in threads of the runtime. Thread-safe.
 *
 * <p>A caller waits no longer than a limit. A call that was given up before its limit, because its
 * caller was cancelled or had a deadline, is looked at again when the limit is reached: a device
 * that is slow is legal, one that never answers is not.
 */
final class DeviceCalls {
  /** The name of calls that a departure need not wait for. */
  static final String CLOSE = "close";

  /** How long a device may take to stop once it was told to, before its caller goes on. */
  private static final Duration GRACE = Duration.ofMillis(500);

  private final Executor threads;
  private final Timekeeper time;
  private final String classLoader;
  private final Consumer<GuardedCall<?>> onHang;
  private final Set<GuardedCall<?>> calls = ConcurrentHashMap.newKeySet();

  /**
   * The calls of a device.
   *
   * @param classLoader of the driver, for people
   * @param onHang learns of calls that reach their limit
   */
  DeviceCalls(
      Executor threads, Timekeeper time, String classLoader, Consumer<GuardedCall<?>> onHang) {
    this.threads = threads;
    this.time = time;
    this.classLoader = classLoader;
    this.onHang = onHang;
  }

  /**
   * What a call is and how long it may take.
   *
   * @param name for people
   * @param limit after which it hangs
   * @param control of the caller: it may be cancelled, or have a deadline
   */
  record Terms(String name, Duration limit, ExecutionControl control) {}

  /**
   * Makes a call and waits for it.
   *
   * @param work gets the control to hand to the device; must not throw
   * @param late gets an answer that nobody waits for any more
   */
  <T> Outcome<T> make(Terms terms, Function<ExecutionControl, T> work, Consumer<T> late) {
    return make(terms, work, late, () -> {});
  }

  /**
   * Makes a call and waits for it.
   *
   * @param over done once the answer is where its caller finds it, in time or late; never where no
   *     thread is free
   */
  <T> Outcome<T> make(
      Terms terms, Function<ExecutionControl, T> work, Consumer<T> late, Runnable over) {
    Work<T> bound = new Work<>(terms.control(), work);
    GuardedCall<T> call = new GuardedCall<>(terms.name(), time.nanoTime(), bound, late);
    bound.call = call;
    calls.add(call);
    try {
      threads.execute(
          () -> {
            try {
              call.run();
            } finally {
              calls.remove(call);
              over.run();
            }
          });
    } catch (RejectedExecutionException e) {
      calls.remove(call);
      return new Outcome<>(null, End.NO_THREAD);
    }
    Patience patience = new Patience(call.startNanos(), terms);
    Outcome<T> outcome = call.await(patience);
    switch (outcome.end()) {
      case HUNG -> onHang.accept(call);
      case DEADLINE, CANCELLED -> lookAgain(call, terms.limit());
      default -> {
        // Answered, or nothing more to learn of the device.
      }
    }
    return outcome;
  }

  private void lookAgain(GuardedCall<?> call, Duration limit) {
    Duration left = limit.minusNanos(time.nanoTime() - call.startNanos());
    time.after(
        left.isNegative() ? Duration.ZERO : left,
        () -> {
          if (call.isStuck()) {
            onHang.accept(call);
          }
        });
  }

  /** The work with the control that stops it once nobody waits. */
  private static final class Work<T> implements Supplier<T> {
    private final ExecutionControl control;
    private final Function<ExecutionControl, T> work;
    private GuardedCall<T> call;

    Work(ExecutionControl control, Function<ExecutionControl, T> work) {
      this.control = control;
      this.work = work;
    }

    @Override
    public T get() {
      return work.apply(call.control(control));
    }
  }

  /** How long a caller waits. Used by the caller's thread. */
  private final class Patience implements Supplier<End> {
    private final long startNanos;
    private final Terms terms;
    private boolean isStopping;
    private long stopNanos;

    Patience(long startNanos, Terms terms) {
      this.startNanos = startNanos;
      this.terms = terms;
    }

    @Override
    public End get() {
      long now = time.nanoTime();
      if (now - startNanos >= terms.limit().toNanos()) {
        return End.HUNG;
      }
      End wish =
          switch (terms.control().checkpoint()) {
            case CONTINUE -> End.NONE;
            case CANCELLED -> End.CANCELLED;
            case DEADLINE -> End.DEADLINE;
          };
      if (wish == End.NONE) {
        return End.NONE;
      }
      if (!isStopping) {
        isStopping = true;
        stopNanos = now + GRACE.toNanos();
      }
      return now - stopNanos >= 0 ? wish : End.NONE;
    }
  }

  /** Has all callers go on without an answer. */
  void abandon() {
    calls.forEach(call -> call.abandon(End.LEFT));
  }

  /** Whether a thread is in the device that nobody waits for. */
  boolean isStuck() {
    return calls.stream().anyMatch(GuardedCall::isStuck);
  }

  /** How many executions, prepares and the like are stuck; closing is not counted. */
  int stuckInside() {
    return (int)
        calls.stream().filter(call -> call.isStuck() && !call.name().equals(CLOSE)).count();
  }

  /** How many threads are in the device, stuck ones included. */
  int size() {
    return calls.size();
  }

  /** The class loader of a driver, for people: by its bundle where it has one. */
  static String classLoader(Object driver) {
    Bundle bundle = FrameworkUtil.getBundle(driver.getClass());
    return bundle == null
        ? String.valueOf(driver.getClass().getClassLoader())
        : "%s %s [%d]"
            .formatted(bundle.getSymbolicName(), bundle.getVersion(), bundle.getBundleId());
  }

  /** The calls that nobody waits for and that have not returned. */
  List<StuckCall> stuck() {
    List<StuckCall> stuck = new ArrayList<>();
    for (GuardedCall<?> call : calls) {
      if (call.isStuck()) {
        stuck.add(
            new StuckCall(
                call.threadName(),
                call.name(),
                classLoader,
                Duration.ofNanos(time.nanoTime() - call.startNanos())));
      }
    }
    return stuck;
  }
}
