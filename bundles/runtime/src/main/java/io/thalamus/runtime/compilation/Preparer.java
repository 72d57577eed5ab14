// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Deadline;
import io.thalamus.model.Model;
import io.thalamus.runtime.caching.StepCache;
import io.thalamus.runtime.caching.StepCache.Part;
import io.thalamus.runtime.caching.StepCache.Prepared;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.StatusMapping;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.events.PartitionEvent;
import io.thalamus.runtime.events.PrepareEvent;
import io.thalamus.runtime.events.Recordings;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.measurement.StepTimes;
import io.thalamus.runtime.partition.ModelRules;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.partition.Partitioner;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.registry.Support;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * A preparer of one model: plans it and has the devices prepare it. Thread-safe; keeps nothing but
 * which devices the model is too much for.
 */
final class Preparer {
  private final Policies policies;
  private final ModelRules rules;
  private final Measurements measurements;
  private final StepCache cache;
  private final Model model;
  private final CompilationOptions options;
  private final CompilationLabel label;
  private final DeviceSelection choice;
  private final Set<RegisteredDevice> avoided = ConcurrentHashMap.newKeySet();

  Preparer(
      Policies policies,
      ModelRules rules,
      Measurements measurements,
      StepCache cache,
      Model model,
      CompilationOptions options,
      CompilationLabel label,
      DeviceSelection choice) {
    this.policies = policies;
    this.rules = rules;
    this.measurements = measurements;
    this.cache = cache;
    this.model = model;
    this.options = options;
    this.label = label;
    this.choice = choice;
  }

  private Partitioner partitioner(PartitionPolicy policy) {
    return new Partitioner(policy, rules, measurements, options.powerBudget());
  }

  /**
   * Gives a device nothing of this model from now on.
   *
   * @return whether that is new
   */
  boolean avoid(RegisteredDevice device) {
    return avoided.add(device);
  }

  /** Returns the plan of the moment. Nothing is prepared. */
  PlannedModel plan() throws NeuralNetworksException {
    return plan(choice.now());
  }

  private PlannedModel plan(List<RegisteredDevice> devices) throws NeuralNetworksException {
    Policies.Choice chosen = policies.choose(options);
    int operations = model.main().operations().size();
    PartitionEvent event =
        Recordings.arePossible()
            ? PartitionEvent.start(label, chosen.policy().name(), operations)
            : null;
    int steps = 0;
    try {
      PlannedModel planned = plan(devices, chosen);
      steps = planned.steps().size();
      return planned;
    } finally {
      if (event != null) {
        event.finish(steps);
      }
    }
  }

  private PlannedModel plan(List<RegisteredDevice> devices, Policies.Choice chosen)
      throws NeuralNetworksException {
    PartitionPolicy policy = chosen.policy();
    try {
      return remarked(
          partitioner(policy).partition(model, options.preference(), devices), chosen.remark());
    } catch (NeuralNetworksException e) {
      if (!mayFallBack(e)) {
        throw e;
      }
      if (policy.name().equals(NnapiPolicy.NAME)) {
        return wholeOnReference(devices, e);
      }
      logFallback("nnapi decides instead", e);
      return planAsNnapi(devices, e);
    }
  }

  /** Returns the plan by NNAPI's rules, when the requested policy makes none. */
  private PlannedModel planAsNnapi(List<RegisteredDevice> devices, NeuralNetworksException reason)
      throws NeuralNetworksException {
    try {
      return remarked(
          partitioner(policies.nnapi()).partition(model, options.preference(), devices),
          reason.getMessage() + "; nnapi decided");
    } catch (NeuralNetworksException e) {
      return wholeOnReference(devices, e);
    }
  }

  private PlannedModel wholeOnReference(
      List<RegisteredDevice> devices, NeuralNetworksException reason)
      throws NeuralNetworksException {
    Optional<RegisteredDevice> reference = reference(devices);
    if (!mayFallBack(reason) || reference.isEmpty()) {
      throw reason;
    }
    logFallback("the whole model goes to " + reference.get().id(), reason);
    return remarked(whole(reference.get()), reason.getMessage());
  }

  private PlannedModel whole(RegisteredDevice device) throws NeuralNetworksException {
    return partitioner(policies.nnapi()).whole(model, options.preference(), device);
  }

  private static PlannedModel remarked(PlannedModel planned, String remark) {
    Plan plan = planned.description();
    return remark.isEmpty()
        ? planned
        : planned.with(plan.with(plan.prediction().withRemark(remark)));
  }

  /**
   * Prepares the plan of the moment. If a device fails, the model is planned again without it;
   * NNAPI gives all of it to the CPU then, which is what is left in the end.
   *
   * @param current what is prepared already
   * @param unchanged gets the plan of the moment where it has the same steps as the current one,
   *     and none of these is worth compiling anew; then the result is empty
   */
  Optional<PreparedPlan> prepare(
      Optional<PreparedPlan> current, Deadline deadline, Consumer<Plan> unchanged)
      throws NeuralNetworksException {
    List<RegisteredDevice> failed = new ArrayList<>();
    while (true) {
      List<RegisteredDevice> devices = new ArrayList<>(choice.now());
      devices.removeAll(failed);
      devices.removeAll(avoided);
      PlannedModel planned = plan(devices);
      boolean isRenewal = current.isPresent() && current.get().isStale();
      if (current.isPresent() && !isRenewal && planned.isSameAs(current.get().planned())) {
        unchanged.accept(planned.description());
        return Optional.empty();
      }
      try {
        return Optional.of(prepare(planned, config().with(deadline), isRenewal));
      } catch (StepRefusedException e) {
        boolean hasLeft = !e.device().isServing();
        if (!hasLeft && (!mayFallBack(e.reason()) || e.device().isReference())) {
          throw e.reason();
        }
        failed.add(e.device());
        if (e.reason().code() == ResultCode.RESOURCE_EXHAUSTED_PERSISTENT) {
          avoid(e.device());
        }
        if (devices.size() == 1) {
          throw e.reason();
        }
        if (!hasLeft) {
          logFallback("planned again without " + e.device().id(), e.reason());
        }
      }
    }
  }

  private boolean mayFallBack(NeuralNetworksException e) {
    return options.fallback() != Fallback.DENY
        && e.code() != ResultCode.BAD_DATA
        && e.code() != ResultCode.UNEXPECTED_NULL
        && !StatusMapping.isMissedDeadline(e.code());
  }

  private void logFallback(String what, NeuralNetworksException reason) {
    Compiler.log().log(
        options.fallback() == Fallback.WARN ? Level.WARNING : Level.DEBUG,
        "{0}: {1}",
        what,
        reason.getMessage());
  }

  private PrepareConfig config() {
    return PrepareConfig.DEFAULT.with(options.preference()).with(options.priority());
  }

  private PreparedPlan prepare(PlannedModel planned, PrepareConfig config, boolean isRenewal)
      throws StepRefusedException {
    return prepare(planned, config, options.caching(), isRenewal, this::learn);
  }

  private void learn(PreparedPlan plan) {
    measurements.learn(Observations.of(plan, StepTimes::usual));
    for (ExecutionStep step : plan.planned().steps()) {
      measurements.learn(
          step.device().info(),
          step.model(),
          options.preference(),
          plan.step(step.index()).times());
    }
  }

  private StepTimes times(ExecutionStep step) {
    return new StepTimes(
        measurements.stepTime(step.device().info(), step.model(), options.preference()));
  }

  private PreparedPlan prepare(
      PlannedModel planned,
      PrepareConfig config,
      Optional<CacheOptions> caching,
      boolean isRenewal,
      Consumer<PreparedPlan> onEnd)
      throws StepRefusedException {
    List<PreparedStep> prepared = new ArrayList<>();
    boolean isComplete = false;
    try {
      for (ExecutionStep step : planned.steps()) {
        Prepared made = prepare(step, config, caching, isRenewal, prepared.isEmpty());
        prepared.add(new PreparedStep(step, made.model(), made.origin(), times(step)));
      }
      isComplete = true;
      return new PreparedPlan(planned, prepared, onEnd);
    } finally {
      if (!isComplete) {
        prepared.forEach(step -> step.primary().close());
      }
    }
  }

  private Prepared prepare(
      ExecutionStep step,
      PrepareConfig config,
      Optional<CacheOptions> caching,
      boolean isRenewal,
      boolean isFirst)
      throws StepRefusedException {
    try {
      return prepare(part(step, step.device()), config, caching, isRenewal);
    } catch (DeviceException e) {
      String doing = step.describe() + " was not prepared by " + step.device().id();
      NeuralNetworksException reason = StatusMapping.toException(doing, e);
      boolean isMissed = StatusMapping.isMissedDeadline(reason.code());
      if (config.deadline().hasPassed() || (isMissed && !isFirst)) {
        // A device that was asked to stop says so in its own words, and one that comes to it last
        // calls it over at entry, or what is left too short; it was not, for the caller.
        reason = new NeuralNetworksException(Cause.COMPILATION_STOPPED.code(), reason.getMessage());
      }
      throw new StepRefusedException(step.device(), reason);
    }
  }

  private Prepared prepare(
      Part part, PrepareConfig config, Optional<CacheOptions> caching, boolean isRenewal)
      throws DeviceException {
    PrepareEvent event = Recordings.arePossible() ? PrepareEvent.start(label) : null;
    String origin = "";
    ResultCode code = ResultCode.NO_ERROR;
    String message = "";
    try {
      Prepared prepared = cache.prepare(part, config, caching, isRenewal);
      origin = prepared.origin().name();
      return prepared;
    } catch (DeviceException e) {
      code = StatusMapping.toResultCode(e.status());
      message = e.getMessage();
      throw e;
    } finally {
      if (event != null) {
        event.finish(part.device().id(), part.describe(), origin, code, message);
      }
    }
  }

  private Part part(ExecutionStep step, RegisteredDevice device) {
    return new Part(device, step, step.model() == model);
  }

  /** Returns for each step of the plan of the moment whether it would be restored. */
  List<Forecast> forecast() throws NeuralNetworksException {
    List<Forecast> forecasts = new ArrayList<>();
    for (ExecutionStep step : plan().steps()) {
      forecasts.add(
          cache.forecast(part(step, step.device()), config(), options.caching().orElseThrow()));
    }
    return forecasts;
  }

  /** Removes the stored files of the steps of the plan of the moment. */
  int forget() throws NeuralNetworksException {
    int removed = 0;
    for (ExecutionStep step : plan().steps()) {
      removed +=
          cache.forget(part(step, step.device()), config(), options.caching().orElseThrow())
              ? 1
              : 0;
    }
    return removed;
  }

  /** Returns the settings of a prepare that an execution waits for. */
  private PrepareConfig config(ExecutionConfig execution) {
    return config().with(execution.deadline()).with(execution.control());
  }

  /**
   * Prepares a step on another device than its own: on the reference when that takes it, else on
   * the first device that does.
   *
   * @param execution which waits for it
   */
  DevicePreparedModel prepareElsewhere(ExecutionStep step, ExecutionConfig execution)
      throws NeuralNetworksException {
    List<RegisteredDevice> others =
        choice.now().stream()
            .filter(device -> device != step.device())
            // Outputs stand in the caller's memory where the plan has no device to be guarded from.
            .filter(device -> !device.isGuarded() || step.device().isGuarded())
            .sorted(Comparator.comparing(device -> !device.isReference()))
            .toList();
    List<String> reasons = new ArrayList<>();
    int operations = step.operations().size();
    for (RegisteredDevice device : others) {
      Support support = device.supportedOperations(step.model(), Admission.WHILE_SERVING);
      if (support.operations().cardinality() < operations) {
        reasons.add(device.id() + ": " + support.reason());
        continue;
      }
      try {
        return prepare(part(step, device), config(execution), options.caching(), false).model();
      } catch (DeviceException e) {
        reasons.add(device.id() + ": " + e.getMessage());
        if (StatusMapping.isMissedDeadline(StatusMapping.toResultCode(e.status()))) {
          break;
        }
      }
    }
    String why =
        reasons.isEmpty()
            ? "there is no other"
            : reasons.stream().collect(Collectors.joining("; "));
    throw new NeuralNetworksException(
        ResultCode.OP_FAILED, "no other device takes it (" + why + ")");
  }

  /**
   * Prepares a step on the reference, whether the compilation may use that or not. Never from the
   * cache: a second opinion must depend on nothing that was stored.
   *
   * @param execution which waits for it
   */
  DevicePreparedModel prepareOnReference(ExecutionStep step, ExecutionConfig execution)
      throws NeuralNetworksException {
    Optional<RegisteredDevice> reference = choice.reference();
    if (reference.isEmpty()
        || reference
                .get()
                .supportedOperations(step.model(), Admission.WHILE_SERVING)
                .operations()
                .cardinality()
            < step.operations().size()) {
      throw new NeuralNetworksException(
          ResultCode.OP_FAILED, "the reference does not support " + step.describe());
    }
    try {
      return reference.get().prepare(step.model(), config(execution), Admission.WHILE_SERVING);
    } catch (DeviceException e) {
      throw StatusMapping.toException("the reference does not take " + step.describe(), e);
    }
  }

  /**
   * Prepares the whole model on the reference.
   *
   * @param execution which waits for it
   */
  PreparedPlan prepareWholeOnReference(ExecutionConfig execution) throws NeuralNetworksException {
    RegisteredDevice reference =
        reference(choice.now())
            .orElseThrow(
                () ->
                    new NeuralNetworksException(
                        ResultCode.OP_FAILED, "the cpu device is not here to repeat it"));
    try {
      return prepare(whole(reference), config(execution), false);
    } catch (StepRefusedException e) {
      throw e.reason();
    }
  }

  /** Returns the devices of the moment, in the order in which ties are broken. */
  List<RegisteredDevice> devices() {
    return choice.now();
  }

  /**
   * The plan by a policy of the runtime's own, in which each operation may be a step of its own.
   */
  PreparedPlan prepareToMeasure(PartitionPolicy policy, boolean onePerOperation)
      throws NeuralNetworksException {
    Partitioner partitioner = partitioner(policy);
    PlannedModel planned =
        (onePerOperation ? partitioner.withOnePerOperation() : partitioner)
            .partition(model, options.preference(), devices());
    try {
      // Whoever measures learns from both plans at once, and has no use for their steps later.
      return prepare(planned, config(), Optional.empty(), false, plan -> {});
    } catch (StepRefusedException e) {
      throw e.reason();
    }
  }

  private static Optional<RegisteredDevice> reference(List<RegisteredDevice> devices) {
    return devices.stream().filter(RegisteredDevice::isReference).findFirst();
  }
}
