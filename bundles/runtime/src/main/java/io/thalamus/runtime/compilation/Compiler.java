// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.Prediction;
import io.thalamus.model.Deadline;
import io.thalamus.model.Model;
import io.thalamus.runtime.caching.StepCache;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.events.ReplanEvent;
import io.thalamus.runtime.execution.AsyncThreads;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.partition.ModelRules;
import io.thalamus.runtime.partition.Partitioner;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.Bursts;
import io.thalamus.runtime.registry.DeviceListener;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/**
 * A compiler that also replans its compilations in the background when devices come and go.
 * Thread-safe.
 *
 * <p>A compilation that denies fallback is not moved away from a device that leaves: its executions
 * fail, and say so, until a device arrives on which it can be planned again.
 */
@Component(service = Compiler.class)
public final class Compiler implements DeviceListener, AutoCloseable {
  private final DeviceRegistry registry;
  private final Policies policies;
  private final AsyncThreads asyncThreads;
  private final ModelRules rules;
  private final Measurements measurements;
  private final StepCache cache;
  private final Bursts bursts;
  private final Consumer<String> policyListener = this::policyChanged;
  private final ReplanThread replanThread;
  private final Set<CompilationImpl> live = ConcurrentHashMap.newKeySet();

  @Activate
  public Compiler(
      @Reference DeviceRegistry registry,
      @Reference Policies policies,
      @Reference AsyncThreads asyncThreads,
      @Reference ModelRules rules,
      @Reference Measurements measurements,
      @Reference StepCache cache,
      @Reference Bursts bursts) {
    this.registry = registry;
    this.policies = policies;
    this.asyncThreads = asyncThreads;
    this.rules = rules;
    this.measurements = measurements;
    this.cache = cache;
    this.bursts = bursts;
    this.replanThread = new ReplanThread(registry.time());
    registry.addListener(this);
    policies.addListener(policyListener);
  }

  /** Returns the supported operations; see {@code NeuralNetworks.supportedOperations}. */
  public BitSet supportedOperations(Model model, List<String> devices)
      throws NeuralNetworksException {
    Model checked = rules.check(model);
    DeviceSelection choice = new DeviceSelection(registry, devices, false);
    choice.check();
    return new Partitioner(policies.nnapi(), rules).supportedOperations(checked, choice.now());
  }

  /** Returns the plan that a model would get; see {@code NeuralNetworks.plan}. */
  public Plan plan(Model model, CompilationOptions options) throws NeuralNetworksException {
    return preparer(model, options, CompilationLabel.PLANNING, true).plan().description();
  }

  /** Times the operations of a model on each device; see {@code NeuralNetworks.measure}. */
  public Plan measure(Model model, CompilationOptions options, Duration patience)
      throws NeuralNetworksException {
    Preparer preparer = preparer(model, options);
    List<String> remarks =
        new Calibration(model, preparer, measurements, asyncThreads, this).run(patience);
    measurements.flush();
    Plan plan = preparer.plan().description();
    Prediction prediction = plan.prediction();
    for (String remark : remarks) {
      prediction = prediction.withRemark(remark);
    }
    return plan.with(prediction);
  }

  /** Returns the names of the policies that are present. */
  public List<String> policies() {
    return policies.names();
  }

  /**
   * Prepares a model; see {@code NeuralNetworks.compile}.
   *
   * @param label names it in events
   * @param onClose called once, when the compilation is closed
   */
  public Compilation compile(
      Model model,
      CompilationOptions options,
      CompilationLabel label,
      Consumer<Compilation> onClose)
      throws NeuralNetworksException {
    Preparer preparer = preparer(model, options, label, false);
    Deadline deadline =
        options
            .timeout()
            .map(timeout -> Deadline.after(timeout, registry.time()))
            .orElse(Deadline.never(registry.time()));
    if (deadline.hasPassed()) {
      throw Cause.OVER_AT_ENTRY.exception();
    }
    long changes = registry.changes();
    PreparedPlan plan = preparer.prepare(Optional.empty(), deadline, same -> {}).orElseThrow();
    CompilationImpl compilation =
        new CompilationImpl(model, options, label, preparer, plan, asyncThreads, this, onClose);
    live.add(compilation);
    registry.observe();
    if (registry.changes() != changes || plan.isStale()) {
      // It does not know of devices that came or left while it was prepared.
      requestReplan(compilation);
    }
    return compilation;
  }

  /** Returns the share of executions to compare with the reference where the options say none. */
  double samplingRate() {
    return registry.samplingRate();
  }

  /** Returns the clock that deadlines and timeouts are measured by. */
  Timekeeper time() {
    return registry.time();
  }

  /** Returns what opens bursts on devices. */
  Bursts bursts() {
    return bursts;
  }

  /** Plans a compilation again in the background. One that is not looked after keeps its plan. */
  void requestReplan(CompilationImpl compilation) {
    if (live.contains(compilation)) {
      replanThread.submit(
          compilation,
          compilation.application(),
          compilation.priority(),
          () -> replan(compilation));
    }
  }

  /** Returns whether a compilation waits for another plan. */
  boolean isReplanning(CompilationImpl compilation) {
    return replanThread.isBusyWith(compilation);
  }

  /** Looks after a compilation no more, which is closed. */
  void closed(CompilationImpl compilation) {
    live.remove(compilation);
    measurements.flush();
  }

  private Preparer preparer(Model model, CompilationOptions options)
      throws NeuralNetworksException {
    return preparer(model, options, CompilationLabel.PLANNING, false);
  }

  private Preparer preparer(
      Model model, CompilationOptions options, CompilationLabel label, boolean withTrials)
      throws NeuralNetworksException {
    Model checked = rules.check(model);
    DeviceSelection choice = new DeviceSelection(registry, options.devices(), withTrials);
    if (options.timeout().isPresent() && options.devices().size() != 1) {
      throw NeuralNetworksException.badData(
          "a compilation has a timeout only where exactly one device is named");
    }
    checkCaching(options);
    choice.check();
    policies.check(options);
    return new Preparer(policies, rules, measurements, cache, checked, options, label, choice);
  }

  private static void checkCaching(CompilationOptions options) throws NeuralNetworksException {
    if (options.caching().isPresent()) {
      Path directory = options.caching().get().directory();
      if (Files.exists(directory) && !Files.isDirectory(directory)) {
        throw NeuralNetworksException.badData(
            "compilations cannot be stored in " + directory + ", which is no directory");
      }
    }
  }

  /** Returns which steps would be restored; see {@code CompilationCache.why}. */
  public List<Forecast> forecast(Model model, CompilationOptions options)
      throws NeuralNetworksException {
    requireCaching(options);
    return preparer(model, options).forecast();
  }

  /** Removes stored steps; see {@code CompilationCache.forget}. */
  public int forget(Model model, CompilationOptions options) throws NeuralNetworksException {
    requireCaching(options);
    return preparer(model, options).forget();
  }

  private static void requireCaching(CompilationOptions options) throws NeuralNetworksException {
    if (options.caching().isEmpty()) {
      throw NeuralNetworksException.badData("the options name no caching directory");
    }
  }

  @Override
  public void arrived(RegisteredDevice device) {
    live.forEach(this::requestReplan);
  }

  @Override
  public void departing(RegisteredDevice device) {
    live.stream()
        .filter(compilation -> compilation.uses(device) && compilation.isFallbackAllowed())
        .forEach(this::requestReplan);
  }

  private void policyChanged(String name) {
    live.stream()
        .filter(compilation -> policies.name(compilation.options()).equals(name))
        .forEach(this::requestReplan);
  }

  private static void replan(CompilationImpl compilation) {
    ReplanEvent event = ReplanEvent.start(compilation.label());
    String outcome = "failed";
    String message = "";
    try {
      boolean isMoved = compilation.replan();
      outcome = isMoved ? "moved" : "unchanged";
      if (isMoved) {
        log().log(Level.DEBUG, "a compilation moved to another plan");
      }
    } catch (NeuralNetworksException e) {
      message = e.getMessage();
      // The plan it has stays; its executions will tell their callers what is wrong.
      log().log(Level.DEBUG, "a compilation keeps its plan: {0}", message);
    }
    if (event != null) {
      event.finish(outcome, message);
    }
  }

  @Deactivate
  @Override
  public void close() {
    registry.removeListener(this);
    policies.removeListener(policyListener);
    replanThread.close();
    live.forEach(CompilationImpl::close);
  }

  /** Returns the log of the package, which costs time to find: only where something is said. */
  static System.Logger log() {
    return System.getLogger(Compiler.class.getPackageName());
  }
}
