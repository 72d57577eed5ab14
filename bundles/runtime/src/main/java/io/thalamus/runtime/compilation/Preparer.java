// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Deadline;
import io.thalamus.model.Model;
import io.thalamus.runtime.StatusMapping;
import io.thalamus.runtime.partition.Partitioner;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.registry.RegisteredDevice.Support;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Plans a model and has the devices prepare it. Thread-safe; keeps nothing. */
final class Preparer {
  private static final System.Logger LOG = System.getLogger(Preparer.class.getPackageName());

  private final Partitioner partitioner;
  private final Model model;
  private final CompilationOptions options;
  private final DeviceChoice choice;

  Preparer(Partitioner partitioner, Model model, CompilationOptions options, DeviceChoice choice) {
    this.partitioner = partitioner;
    this.model = model;
    this.options = options;
    this.choice = choice;
  }

  /** The plan of the moment. Nothing is prepared. */
  PlannedModel plan() throws NeuralNetworksException {
    return plan(choice.now());
  }

  private PlannedModel plan(List<RegisteredDevice> devices) throws NeuralNetworksException {
    try {
      return partitioner.partition(model, options.preference(), devices);
    } catch (NeuralNetworksException e) {
      Optional<RegisteredDevice> reference = reference(devices);
      if (!mayFallBack(e) || reference.isEmpty()) {
        throw e;
      }
      fallenBack("the whole model goes to " + reference.get().id(), e);
      return partitioner.whole(model, options.preference(), reference.get());
    }
  }

  /**
   * Prepares the plan of the moment. Where a device fails, the model is planned again without it;
   * NNAPI gives all of it to the CPU then, which is what is left in the end.
   *
   * @param current what is prepared already; empty where that is still the right plan
   */
  Optional<PreparedPlan> prepare(Optional<PlannedModel> current, Deadline deadline)
      throws NeuralNetworksException {
    List<RegisteredDevice> failed = new ArrayList<>();
    while (true) {
      List<RegisteredDevice> devices = new ArrayList<>(choice.now());
      devices.removeAll(failed);
      PlannedModel planned = plan(devices);
      if (current.isPresent() && planned.isSameAs(current.get())) {
        return Optional.empty();
      }
      try {
        return Optional.of(prepare(planned, config().with(deadline)));
      } catch (StepRefusedException e) {
        boolean hasLeft = !e.device().isServing();
        if (!hasLeft && (!mayFallBack(e.reason()) || e.device().isReference())) {
          throw e.reason();
        }
        failed.add(e.device());
        if (devices.size() == 1) {
          throw e.reason();
        }
        if (!hasLeft) {
          fallenBack("planned again without " + e.device().id(), e.reason());
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

  private void fallenBack(String what, NeuralNetworksException reason) {
    LOG.log(
        options.fallback() == Fallback.WARN ? Level.WARNING : Level.DEBUG,
        "{0}: {1}",
        what,
        reason.getMessage());
  }

  private PrepareConfig config() {
    return PrepareConfig.DEFAULT.with(options.preference()).with(options.priority());
  }

  private static PreparedPlan prepare(PlannedModel planned, PrepareConfig config)
      throws StepRefusedException {
    List<PreparedStep> prepared = new ArrayList<>();
    boolean isComplete = false;
    try {
      for (ExecutionStep step : planned.steps()) {
        prepared.add(new PreparedStep(step, prepare(step, config)));
      }
      isComplete = true;
      return new PreparedPlan(planned, prepared);
    } finally {
      if (!isComplete) {
        prepared.forEach(step -> step.primary().close());
      }
    }
  }

  private static DevicePreparedModel prepare(ExecutionStep step, PrepareConfig config)
      throws StepRefusedException {
    try {
      return step.device().prepare(step.model(), config);
    } catch (DeviceException e) {
      String doing =
          step.device().id() + " did not prepare its " + step.operations().size() + " operations";
      throw new StepRefusedException(step.device(), StatusMapping.toException(doing, e));
    }
  }

  /**
   * Prepares a step on another device than its own: on the reference where that takes it, else on
   * the first that does. As NNAPI has it, with the usual preference and without deadline.
   */
  DevicePreparedModel prepareElsewhere(ExecutionStep step) throws NeuralNetworksException {
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
      Support support = device.supportedOperations(step.model());
      if (support.operations().cardinality() < operations) {
        reasons.add(device.id() + ": " + support.reason());
        continue;
      }
      try {
        return device.prepare(step.model(), PrepareConfig.DEFAULT);
      } catch (DeviceException e) {
        reasons.add(device.id() + ": " + e.getMessage());
      }
    }
    String why =
        reasons.isEmpty()
            ? "there is no other"
            : reasons.stream().collect(Collectors.joining("; "));
    throw new NeuralNetworksException(
        ResultCode.OP_FAILED, "no other device takes it (" + why + ")");
  }

  /** Prepares the whole model on the reference. */
  PreparedPlan prepareWholeOnReference() throws NeuralNetworksException {
    RegisteredDevice reference =
        reference(choice.now())
            .orElseThrow(
                () ->
                    new NeuralNetworksException(
                        ResultCode.OP_FAILED, "the cpu device is not here to repeat it"));
    try {
      return prepare(
          partitioner.whole(model, options.preference(), reference), PrepareConfig.DEFAULT);
    } catch (StepRefusedException e) {
      throw e.reason();
    }
  }

  private static Optional<RegisteredDevice> reference(List<RegisteredDevice> devices) {
    return devices.stream().filter(RegisteredDevice::isReference).findFirst();
  }
}
