// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

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
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * The faults of a device by rules, with a count of each kind. Thread-safe.
 *
 * <p>Outlives the device: a lost device takes neither rules nor counts with it. Owned by whoever
 * made it; closing it frees every call that stands still and joins its thread, which exists only
 * while a device is lost.
 */
public final class FaultInjector implements AutoCloseable {
  private final ServiceSwitch service;
  private final DeviceState state = new DeviceState(this::count);
  private final LongAdder executions = new LongAdder();
  private final Map<Fault.Kind, LongAdder> injected = new EnumMap<>(Fault.Kind.class);
  private final ScheduledThreadPoolExecutor clock;
  private volatile List<ActiveRule> rules = List.of();
  private volatile boolean closed;
  private final AtomicLong losses = new AtomicLong();

  /**
   * Makes an injector without rules.
   *
   * @param service withdraws a lost device and offers it again
   * @param thread the name of the thread that does so
   */
  public FaultInjector(ServiceSwitch service, String thread) {
    this.service = Objects.requireNonNull(service, "service");
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
   * Resets the device: no rule is in force any longer, calls that stand still fail with
   * GENERAL_FAILURE, there is room again. A lost device still comes back at its time; counts stay.
   */
  public void reset() {
    synchronized (this) {
      rules = List.of();
    }
    // First: a call that goes on after the reset finds nothing of what was before.
    losses.incrementAndGet();
    state.reset();
  }

  /** Returns the rules and counts, and the condition of the device. */
  public FaultStatus status() {
    Map<Fault.Kind, Long> counts = new EnumMap<>(Fault.Kind.class);
    injected.forEach((kind, count) -> counts.put(kind, count.sum()));
    return state.status(rules.stream().map(ActiveRule::rule).toList(), executions.sum(), counts);
  }

  /** Begins a life of the device, healthy, with empty memory. */
  int begin() {
    losses.incrementAndGet();
    return state.begin();
  }

  /** Ends a life: its calls end too, those that stand still with DEVICE_UNAVAILABLE. */
  void end(int number) {
    state.end(number);
  }

  /** Returns how often the device has lost what its buffers held. */
  long losses() {
    return losses.get();
  }

  /**
   * Lets a call that is no execution meet the device's condition.
   *
   * @return how it ends, or null where it goes on
   */
  Failed beforeCall(int of) {
    return state.meet(of);
  }

  /** Decides on the faults of an execution, and lets pass the time that they take. */
  FaultDecision beforeExecution(int of, ExecutionConfig config) {
    executions.increment();
    // Before the rules: a reset between the two ends what they begin.
    int resets = state.resets();
    List<ActiveRule> now = rules;
    Failed failure = beforeCall(of);
    if (failure != null) {
      return FaultDecision.failing(failure);
    }
    if (now.isEmpty()) {
      return FaultDecision.NONE;
    }
    // All rules count an execution, whether an earlier one ends it or not.
    long[] numbers = now.stream().mapToLong(ActiveRule::count).toArray();
    List<FaultDecision.Flip> flips = new ArrayList<>();
    for (int i = 0; i < numbers.length; i++) {
      if (numbers[i] > 0) {
        failure = strike(now.get(i), numbers[i], new Moment(of, resets), config, flips);
        if (failure != null) {
          return FaultDecision.failing(failure);
        }
      }
    }
    return new FaultDecision(null, flips);
  }

  /** The beginning of an execution: the life, and the resets until then. */
  private record Moment(int life, int resets) {}

  private Failed strike(
      ActiveRule rule,
      long number,
      Moment begin,
      ExecutionConfig config,
      List<FaultDecision.Flip> flips) {
    switch (rule.rule().fault()) {
      case Fault.Latency latency -> {
        count(Fault.Kind.LATENCY);
        return state.delay(begin.life(), begin.resets(), latency.time(), config);
      }
      case Fault.Crash crash -> {
        count(Fault.Kind.CRASH);
        losses.incrementAndGet();
        return new Failed(crash.status(), "injected: execution " + number + " crashed");
      }
      case Fault.Wrong wrong -> {
        flips.add(new FaultDecision.Flip(wrong.bits(), rule.places(number)));
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
    losses.incrementAndGet();
    try {
      clock.execute(service::leave);
      clock.schedule(this::find, time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      state.find(); // closed meanwhile: the device goes for good, by itself
    }
  }

  private void find() {
    state.find();
    service.comeBack();
  }

  /** Counts an execution whose outputs were changed. */
  void flipped() {
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
    // Waits for its thread, also when this one is interrupted.
    clock.close();
  }
}
