// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.Bursts;
import io.thalamus.runtime.registry.DeviceBurst;
import io.thalamus.runtime.registry.DevicePreparedModel;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * A burst of an application. Thread-safe. Owns a place for each execution that it takes at once,
 * with what one leaves to the next.
 */
public final class BurstImpl implements Burst {
  private final ExecutionHost host;
  private final Bursts bursts;
  private final BurstOptions options;
  private final Duration pollWindow;
  private final Consumer<BurstImpl> onEnd;
  private final BurstPlace[] places;
  private final ReferenceCount uses = new ReferenceCount(this::end);

  /** The number of packets read by servers of closed bursts. */
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
    this.places = new BurstPlace[options.depth()];
    Arrays.setAll(places, i -> new BurstPlace(this));
    for (BurstPlace _ : places) {
      uses.retain();
    }
  }

  private DeviceBurst open(DevicePreparedModel model) {
    return model.createBurst(bursts, options.depth(), pollWindow, read::add);
  }

  /**
   * Begins an execution of a compilation.
   *
   * @return its place, to be left by {@link BurstPlace#exit}
   * @throws NeuralNetworksException if it may not begin
   */
  BurstPlace enter(ExecutionHost compilation) throws NeuralNetworksException {
    if (compilation != host) {
      throw NeuralNetworksException.badData(
          "the burst is of another compilation: create one of this one");
    }
    for (BurstPlace place : places) {
      if (place.take()) {
        return place;
      }
    }
    throw new NeuralNetworksException(
        ResultCode.BAD_STATE,
        uses.isClosed()
            ? "the burst is closed"
            : "the burst is busy: its depth allows " + options.depth() + " execution(s) at once");
  }

  /** Lets go of what is held of a plan that was exchanged. */
  public void letGo() {
    for (BurstPlace place : places) {
      place.letGo();
    }
  }

  /** A place is closed, and nothing is executed in it any more. */
  void ended() {
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

  /** Counts a step that is executed synchronously. */
  void fellBack(String reason) {
    fallbacks.computeIfAbsent(reason, any -> new LongAdder()).increment();
  }

  @Override
  public BurstInfo describe() {
    Map<String, Long> reasons = new HashMap<>();
    fallbacks.forEach((reason, count) -> reasons.put(reason, count.sum()));
    long open = plans.stream().mapToLong(plan -> plan.readByBursts(this)).sum();
    long executions = Arrays.stream(places).mapToLong(BurstPlace::executionCount).sum();
    long sent = Arrays.stream(places).mapToLong(BurstPlace::sentCount).sum();
    return new BurstInfo(options.depth(), executions, sent, read.sum() + open, reasons);
  }

  @Override
  public void close() {
    if (uses.close()) {
      for (BurstPlace place : places) {
        place.close();
      }
    }
  }

  private void end() {
    latest = null;
    plans.forEach(plan -> plan.closeBursts(this));
    onEnd.accept(this);
  }
}
