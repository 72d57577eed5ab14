// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.registry.Bursts;
import io.thalamus.runtime.registry.DeviceBurst;
import io.thalamus.runtime.registry.DevicePreparedModel;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * A burst of an application. Thread-safe. Owns the memories for the arguments of its executions,
 * which stay the same from one to the next.
 */
public final class BurstImpl implements Burst {
  private final ExecutionHost host;
  private final Bursts bursts;
  private final BurstOptions options;
  private final Duration pollWindow;
  private final Consumer<BurstImpl> onEnd;
  private final Semaphore free;
  private final ScratchPool scratch = new ScratchPool();
  private final ReferenceCount uses = new ReferenceCount(this::end);
  private final LongAdder executions = new LongAdder();
  private final LongAdder sent = new LongAdder();

  /** What the servers of bursts have read that are closed. */
  private final LongAdder read = new LongAdder();

  private final Map<String, LongAdder> fallbacks = new ConcurrentHashMap<>();

  /** The plans in use on which it has bursts of devices. */
  private final Set<PreparedPlan> plans = ConcurrentHashMap.newKeySet();

  private volatile PreparedPlan latest;

  /**
   * Creates a burst.
   *
   * @param host whose executions may use it
   * @param pollWindow if the options name none
   * @param onEnd called once, when it is closed and its last execution is over
   */
  public BurstImpl(
      ExecutionHost host,
      Bursts bursts,
      BurstOptions options,
      Duration pollWindow,
      Consumer<BurstImpl> onEnd) {
    this.host = host;
    this.bursts = bursts;
    this.options = options;
    this.pollWindow = options.pollWindow().orElse(pollWindow);
    this.onEnd = onEnd;
    this.free = new Semaphore(options.depth());
  }

  private DeviceBurst open(DevicePreparedModel model) {
    return model.createBurst(bursts, options.depth(), pollWindow, read::add);
  }

  /** The reason why an execution does not begin. */
  record Refusal(ResultCode code, String message) {}

  /** Begins an execution of a compilation, which {@link #exit} ends; or returns why it may not. */
  Refusal enter(ExecutionHost compilation) {
    if (compilation != host) {
      return new Refusal(
          ResultCode.BAD_DATA, "the burst is of another compilation: create one of this one");
    }
    if (!uses.retain()) {
      return new Refusal(ResultCode.BAD_STATE, "the burst is closed");
    }
    if (!free.tryAcquire()) {
      uses.release();
      return new Refusal(
          ResultCode.BAD_STATE,
          "the burst is busy: its depth allows " + options.depth() + " execution(s) at once");
    }
    return null;
  }

  /** Ends an execution. */
  void exit() {
    executions.increment();
    free.release();
    uses.release();
  }

  /** Opens the bursts on the devices of a plan that is about to be used, unless they are open. */
  public void prepare(PreparedPlan plan) {
    if (latest == plan || !uses.retain()) {
      return;
    }
    try {
      plans.removeIf(PreparedPlan::isEnded);
      plans.add(plan);
      plan.openBursts(this, this::open);
      latest = plan;
    } finally {
      uses.release();
    }
  }

  /** Returns the burst on the planned device of a step; null if its plan is not one of these. */
  DeviceBurst on(PreparedStep step) {
    return step.burst(this);
  }

  ScratchPool scratch() {
    return scratch;
  }

  /** Counts a request that was sent. */
  void sent() {
    sent.increment();
  }

  /** Counts a step that is executed synchronously. */
  void fellBack(String reason) {
    fallbacks.computeIfAbsent(reason, any -> new LongAdder()).increment();
  }

  @Override
  public BurstInfo describe() {
    Map<String, Long> reasons = new HashMap<>();
    fallbacks.forEach((reason, count) -> reasons.put(reason, count.sum()));
    long open = plans.stream().mapToLong(plan -> plan.readByBursts(this)).sum();
    return new BurstInfo(options.depth(), executions.sum(), sent.sum(), read.sum() + open, reasons);
  }

  @Override
  public void close() {
    uses.close();
  }

  private void end() {
    latest = null;
    plans.forEach(plan -> plan.closeBursts(this));
    scratch.close();
    onEnd.accept(this);
  }
}
