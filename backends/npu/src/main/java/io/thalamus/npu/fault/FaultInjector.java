// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Hurts a device by rules, and counts what it does. Thread-safe.
 *
 * <p>Outlives the device: a lost device takes neither rules nor counts with it. Owned by whoever
 * made it; closing it frees every call that stands still and joins its thread, which exists only
 * while a device is lost.
 */
public final class FaultInjector implements AutoCloseable {
  private final Presence presence;
  private final DeviceState state = new DeviceState(this::count);
  private final LongAdder executions = new LongAdder();
  private final Map<Fault.Kind, LongAdder> injected = new EnumMap<>(Fault.Kind.class);
  private final ScheduledThreadPoolExecutor clock;
  private volatile List<ActiveRule> rules = List.of();
  private volatile boolean closed;
  private volatile Life life = new Life(0, () -> {});

  /** A life of the device, and who is told when its memory loses what it holds. */
  private record Life(int number, Runnable memoryLoss) {}

  /**
   * Makes an injector without rules.
   *
   * @param presence what a lost device is withdrawn and offered by
   * @param thread the name of the thread that does so
   */
  public FaultInjector(Presence presence, String thread) {
    this.presence = Objects.requireNonNull(presence, "presence");
    for (Fault.Kind kind : Fault.Kind.values()) {
      injected.put(kind, new LongAdder());
    }
    clock = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().name(thread).daemon().factory());
    clock.setKeepAliveTime(1, TimeUnit.SECONDS);
    clock.allowCoreThreadTimeOut(true);
    clock.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** Adds rules to those in force; they count executions from now on. */
  public void add(FaultPlan plan) {
    List<FaultRule> immediate = new ArrayList<>();
    synchronized (this) {
      List<ActiveRule> all = new ArrayList<>(rules);
      for (FaultRule rule : plan.rules()) {
        if (rule.trigger().isImmediate() && isOfState(rule.fault())) {
          immediate.add(rule);
        } else {
          all.add(new ActiveRule(rule));
        }
      }
      rules = List.copyOf(all);
    }
    immediate.forEach(rule -> change(rule.fault()));
  }

  private static boolean isOfState(Fault fault) {
    return switch (fault) {
      case Fault.Hang _, Fault.Exhaust _, Fault.Lose _ -> true;
      case Fault.Latency _, Fault.Crash _, Fault.Wrong _ -> false;
    };
  }

  /**
   * Resets the device: no rule is in force any longer, whoever stands still fails with
   * GENERAL_FAILURE, there is room again. A lost device still comes back at its time; counts stay.
   */
  public void reset() {
    synchronized (this) {
      rules = List.of();
    }
    // First: whoever goes on after the reset finds nothing of what was before.
    life.memoryLoss().run();
    state.reset();
  }

  /** What was done so far, and is about to be done. */
  public FaultStatus status() {
    Map<Fault.Kind, Long> counts = new EnumMap<>(Fault.Kind.class);
    injected.forEach((kind, count) -> counts.put(kind, count.sum()));
    return state.status(rules.stream().map(ActiveRule::rule).toList(), executions.sum(), counts);
  }

  /**
   * Begins a life of the device, healthy.
   *
   * @param memoryLoss told whenever the device loses what its memory holds
   */
  synchronized int begin(Runnable memoryLoss) {
    life = new Life(state.begin(), memoryLoss);
    return life.number();
  }

  /** Ends a life: its calls end too, those that stand still with DEVICE_UNAVAILABLE. */
  void end(int number) {
    synchronized (this) {
      if (life.number() == number) {
        life = new Life(number, () -> {});
      }
    }
    state.end(number);
  }

  /**
   * What happens to a call that is no execution.
   *
   * @return how it ends, or null where it goes on
   */
  Failed beforeCall(int of) {
    return state.meet(of);
  }

  /** What happens to an execution. */
  Strike beforeExecution(int of, ExecutionConfig config) {
    executions.increment();
    // Before the rules: a reset between the two ends what they begin.
    int resets = state.resets();
    List<ActiveRule> now = rules;
    Failed failure = beforeCall(of);
    if (failure != null) {
      return Strike.failing(failure);
    }
    if (now.isEmpty()) {
      return Strike.NONE;
    }
    // All rules count an execution, whether an earlier one ends it or not.
    long[] numbers = now.stream().mapToLong(ActiveRule::count).toArray();
    List<Strike.Flip> flips = new ArrayList<>();
    for (int i = 0; i < numbers.length; i++) {
      if (numbers[i] > 0) {
        failure = strike(now.get(i), numbers[i], new Moment(of, resets), config, flips);
        if (failure != null) {
          return Strike.failing(failure);
        }
      }
    }
    return new Strike(null, flips);
  }

  /** When an execution began: in which life, and after how many resets. */
  private record Moment(int life, int resets) {}

  private Failed strike(
      ActiveRule rule, long number, Moment begin, ExecutionConfig config, List<Strike.Flip> flips) {
    switch (rule.rule().fault()) {
      case Fault.Latency latency -> {
        count(Fault.Kind.LATENCY);
        return state.delay(begin.life(), begin.resets(), latency.time(), config);
      }
      case Fault.Crash crash -> {
        count(Fault.Kind.CRASH);
        life.memoryLoss().run();
        return new Failed(crash.status(), "injected: execution " + number + " crashed");
      }
      case Fault.Wrong wrong -> {
        flips.add(new Strike.Flip(wrong.bits(), rule.places(number)));
        return null;
      }
      case Fault.Hang _, Fault.Exhaust _, Fault.Lose _ -> {
        change(rule.rule().fault());
        return beforeCall(begin.life());
      }
    }
  }

  private void change(Fault fault) {
    switch (fault) {
      case Fault.Hang hang -> state.hang(hang.time());
      case Fault.Exhaust exhaust -> state.exhaust(exhaust.calls());
      case Fault.Lose lose -> lose(lose.time());
      case Fault.Latency _, Fault.Crash _, Fault.Wrong _ ->
          throw new IllegalArgumentException(fault + " is no state");
    }
  }

  private void lose(Duration time) {
    if (closed || !state.lose()) {
      return;
    }
    count(Fault.Kind.LOSE);
    life.memoryLoss().run();
    try {
      clock.execute(presence::leave);
      clock.schedule(this::find, time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      state.find(); // closed meanwhile: the device goes for good, by itself
    }
  }

  private void find() {
    state.find();
    presence.comeBack();
  }

  /** An answer was falsified. */
  void falsified() {
    count(Fault.Kind.WRONG);
  }

  private void count(Fault.Kind kind) {
    injected.get(kind).increment();
  }

  @Override
  public void close() {
    closed = true;
    reset();
    clock.shutdownNow();
    boolean interrupted = false;
    while (true) {
      try {
        if (clock.awaitTermination(1, TimeUnit.MINUTES)) {
          break;
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
