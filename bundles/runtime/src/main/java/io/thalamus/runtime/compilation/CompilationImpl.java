// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.Execution;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.memory.Leases;
import io.thalamus.model.Deadline;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.events.FallbackEvent;
import io.thalamus.runtime.execution.AsyncThreads;
import io.thalamus.runtime.execution.BurstImpl;
import io.thalamus.runtime.execution.ExecutionHost;
import io.thalamus.runtime.execution.ExecutionImpl;
import io.thalamus.runtime.execution.ScratchPool;
import io.thalamus.runtime.plan.OnDemand;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.schedule.Application;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * A compilation. Its plan can be exchanged at any time: executions that run finish on the plan they
 * began with, which is closed when the last of them is over.
 */
final class CompilationImpl implements Compilation, ExecutionHost {
  /** Of an operation in the model, in its plan and in what a device needs to call it: measured. */
  private static final int BYTES_OF_OPERATION = 1 << 12;

  private final Application application;
  private final Model model;
  private final CompilationOptions options;
  private final CompilationLabel label;
  private final Preparer preparer;
  private final AsyncThreads asyncThreads;
  private final Compiler compiler;
  private final Consumer<Compilation> onClose;
  private final AtomicLong executions = new AtomicLong();
  private final ScratchPool scratch = new ScratchPool();
  private final Set<BurstImpl> bursts = ConcurrentHashMap.newKeySet();
  private final Leases pools;
  private final Object lock = new Object();
  private final OnDemand<PreparedPlan> wholeOnReference =
      new OnDemand<>(
          plan -> plan.planned().isServed(), PreparedPlan::retain, PreparedPlan::release);

  /** Null once closed. Written under the lock. */
  private volatile PreparedPlan current;

  private volatile String lastReason = "";
  private Plan lastPlan;
  private List<CacheOutcome> lastCaching;

  /**
   * A compilation.
   *
   * @param plan is released by it
   * @param compiler which plans it again, if it looks after it
   * @param onClose called once, when it is closed
   */
  CompilationImpl(
      Model model,
      CompilationOptions options,
      CompilationLabel label,
      Preparer preparer,
      PreparedPlan plan,
      AsyncThreads asyncThreads,
      Compiler compiler,
      Consumer<Compilation> onClose) {
    this.application = new Application(label.application(), options.client().orElse(""));
    this.model = model;
    this.options = options;
    this.label = label;
    this.preparer = preparer;
    this.current = plan;
    this.lastPlan = plan.planned().description();
    this.lastCaching = plan.caching();
    this.asyncThreads = asyncThreads;
    this.compiler = compiler;
    this.onClose = onClose;
    // The file of a loaded model may be closed before; its constants must stay.
    this.pools = Leases.of(model.pools());
  }

  @Override
  public Model model() {
    return model;
  }

  @Override
  public Plan plan() {
    synchronized (lock) {
      return lastPlan;
    }
  }

  @Override
  public List<CacheOutcome> caching() {
    synchronized (lock) {
      return lastCaching;
    }
  }

  @Override
  public long ownBytes() {
    PreparedPlan plan = current;
    long operations = model.subgraphs().mapToLong(graph -> graph.operations().size()).sum();
    return plan == null ? 0 : plan.ownBytes() + operations * BYTES_OF_OPERATION;
  }

  @Override
  public boolean isReplanning() {
    return compiler.isReplanning(this);
  }

  @Override
  public Execution createExecution() {
    if (current == null) {
      throw new IllegalStateException("the compilation is closed");
    }
    return new ExecutionImpl(this);
  }

  @Override
  public Burst createBurst(BurstOptions wishes) {
    Objects.requireNonNull(wishes, "options");
    // NNAPI's window is for answers as soon as possible; polling costs power.
    Duration window =
        options.preference() == ExecutionPreference.LOW_POWER
            ? Duration.ZERO
            : BurstConfig.DEFAULT_POLL_WINDOW;
    BurstImpl burst = new BurstImpl(this, compiler.bursts(), wishes, window, bursts::remove);
    bursts.add(burst);
    PreparedPlan plan = acquirePlan().orElse(null);
    if (plan == null) {
      burst.close();
      throw new IllegalStateException("the compilation is closed");
    }
    burst.prepare(plan);
    plan.release();
    return burst;
  }

  @Override
  public Optional<PreparedPlan> acquirePlan() {
    while (true) {
      PreparedPlan plan = current;
      if (plan == null) {
        return Optional.empty();
      }
      // It fails only where the plan was exchanged since it was read.
      if (plan.retain()) {
        return Optional.of(plan);
      }
    }
  }

  @Override
  public boolean isCurrent(PreparedPlan plan) {
    return current == plan;
  }

  @Override
  public CompilationLabel label() {
    return label;
  }

  @Override
  public Application application() {
    return application;
  }

  @Override
  public Priority priority() {
    return options.priority();
  }

  @Override
  public boolean isForOneDevice() {
    return options.devices().size() == 1;
  }

  @Override
  public boolean isForNamedDevices() {
    return !options.devices().isEmpty();
  }

  @Override
  public boolean isFallbackAllowed() {
    return options.fallback() != Fallback.DENY;
  }

  @Override
  public DevicePreparedModel prepareElsewhere(ExecutionStep step, ExecutionConfig config)
      throws NeuralNetworksException {
    return preparer.prepareElsewhere(step, config);
  }

  @Override
  public PreparedPlan acquireWholeOnReference(ExecutionConfig config)
      throws NeuralNetworksException {
    FallbackEvent.tell(label, "", "the whole model is repeated on the reference");
    return wholeOnReference.get(config.control(), () -> preparer.prepareWholeOnReference(config));
  }

  @Override
  public void onFallback(ExecutionStep step, String reason) {
    FallbackEvent.tell(label, step.device().id(), reason);
    // The same trouble at every request would drown the log.
    boolean isNews = !reason.equals(lastReason);
    lastReason = reason;
    Compiler.log().log(
        isNews && options.fallback() == Fallback.WARN ? Level.WARNING : Level.DEBUG,
        "repeated elsewhere: {0}",
        reason);
  }

  @Override
  public boolean takeSample() {
    double rate = options.sampling().orElseGet(compiler::samplingRate);
    if (rate <= 0) {
      return false;
    }
    // The first one, and then as evenly as the rate allows.
    long number = executions.getAndIncrement();
    return Math.ceil((number + 1) * rate) > Math.ceil(number * rate);
  }

  @Override
  public DevicePreparedModel prepareOnReference(ExecutionStep step, ExecutionConfig config)
      throws NeuralNetworksException {
    return preparer.prepareOnReference(step, config);
  }

  @Override
  public void excludeDevice(ExecutionStep step) {
    if (preparer.avoid(step.device())) {
      Compiler.log().log(
          Level.DEBUG, "a compilation does without {0} from now on", step.device().id());
      compiler.requestReplan(this);
    }
  }

  @Override
  public ScratchPool scratch() {
    return scratch;
  }

  @Override
  public Timekeeper time() {
    return compiler.time();
  }

  @Override
  public AsyncThreads asyncThreads() {
    return asyncThreads;
  }

  /** Returns whether the current plan has a step on a device. */
  boolean uses(RegisteredDevice device) {
    PreparedPlan plan = current;
    return plan != null
        && plan.planned().steps().stream().anyMatch(step -> step.device() == device);
  }

  /**
   * Puts the plan of the moment in the place of the current one, if it is another, or if a step of
   * the current one is worth compiling anew.
   *
   * @return whether it was exchanged
   * @throws NeuralNetworksException where the model cannot be planned or prepared now; the current
   *     plan stays
   */
  boolean replan() throws NeuralNetworksException {
    PreparedPlan plan;
    Leases constants;
    synchronized (lock) {
      plan = current;
      if (plan == null) {
        return false;
      }
      // Until the end of this, whoever closes the compilation and its model meanwhile.
      constants = Leases.of(model.pools());
    }
    Optional<PreparedPlan> better;
    try (constants) {
      better = preparer.prepare(Optional.of(plan), Deadline.NONE, this::describe);
    }
    if (better.isEmpty()) {
      return false;
    }
    bursts.forEach(burst -> burst.prepare(better.get()));
    PreparedPlan old;
    synchronized (lock) {
      old = current;
      if (old != null) {
        current = better.get();
        lastPlan = better.get().planned().description();
        lastCaching = better.get().caching();
      }
    }
    if (old == null) {
      better.get().release();
      return false;
    }
    bursts.forEach(BurstImpl::letGo);
    old.release();
    return true;
  }

  /** The same steps for another reason. */
  private void describe(Plan plan) {
    synchronized (lock) {
      lastPlan = plan;
    }
  }

  CompilationOptions options() {
    return options;
  }

  @Override
  public void close() {
    PreparedPlan plan;
    synchronized (lock) {
      plan = current;
      current = null;
    }
    if (plan == null) {
      return;
    }
    bursts.forEach(BurstImpl::close);
    plan.release();
    wholeOnReference.close();
    scratch.close();
    pools.close();
    compiler.closed(this);
    onClose.accept(this);
  }
}
