// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.operations.ControlFlow;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.time.Clock;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Cuts valid models into steps for devices, by a policy. Thread-safe. */
public final class Partitioner {
  private final CutSettings settings;

  private Partitioner(CutSettings settings) {
    this.settings = settings;
  }

  /** A partitioner of this policy, which knows no measurements. */
  public Partitioner(PartitionPolicy policy, FeatureLevels levels) {
    this(policy, levels, new Measurements(null, Clock.systemUTC()), OptionalDouble.empty());
  }

  /**
   * A partitioner of this policy.
   *
   * @param powerBudget see {@link io.thalamus.api.CompilationOptions#powerBudget}
   */
  public Partitioner(
      PartitionPolicy policy,
      FeatureLevels levels,
      Measurements measurements,
      OptionalDouble powerBudget) {
    this(new CutSettings(policy, levels, measurements, powerBudget, false));
  }

  /** The same, but each operation is a step of its own. */
  public Partitioner apart() {
    return new Partitioner(
        new CutSettings(
            settings.policy(),
            settings.levels(),
            settings.measurements(),
            settings.powerBudget(),
            true));
  }

  /**
   * Cuts a model.
   *
   * @param devices those to use, in the order in which ties are broken
   * @throws NeuralNetworksException with BAD_DATA where no device supports an operation; with
   *     OP_FAILED where a value of unknown size would cross a boundary, or the policy chose what
   *     cannot be
   */
  public PlannedModel partition(
      Model model, ExecutionPreference preference, List<RegisteredDevice> devices)
      throws NeuralNetworksException {
    if (model.main().operations().isEmpty()) {
      throw new NeuralNetworksException(ResultCode.BAD_DATA, "the model has no operations");
    }
    if (devices.isEmpty()) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, "no device is here: install one, for example cpu");
    }
    return new Cut(model, preference, devices, settings).plan();
  }

  /**
   * The plan that gives a whole model to one device.
   *
   * @throws NeuralNetworksException with BAD_DATA where the device does not support all of it
   */
  public PlannedModel whole(Model model, ExecutionPreference preference, RegisteredDevice device)
      throws NeuralNetworksException {
    GraphProblem problem =
        new GraphProblem(
            model, 0, preference, List.of(device), new DeclaredCosts(model, preference), settings);
    for (int operation = 0; operation < model.main().operations().size(); operation++) {
      if (!problem.supports(0, operation)) {
        throw unsupported(problem, operation);
      }
    }
    return new Cut(model, preference, List.of(device), settings).whole(problem);
  }

  /**
   * Which operations of the main graph at least one device executes. Control flow counts where the
   * interpreter can execute it and its graphs are supported.
   */
  public BitSet supportedOperations(Model model, List<RegisteredDevice> devices) {
    return supportedOperations(model, 0, devices);
  }

  private BitSet supportedOperations(Model model, int subgraph, List<RegisteredDevice> devices) {
    ExecutionPreference any = ExecutionPreference.FAST_SINGLE_ANSWER;
    GraphProblem problem =
        new GraphProblem(model, subgraph, any, devices, new DeclaredCosts(model, any), settings);
    BitSet supported = new BitSet();
    List<Operation> operations = problem.graph().operations();
    for (int operation = 0; operation < operations.size(); operation++) {
      boolean isPromised = false;
      for (int candidate = 0; candidate < devices.size() && !isPromised; candidate++) {
        isPromised = problem.supports(candidate, operation);
      }
      supported.set(
          operation,
          isPromised
              || (problem.isInterpretable(operation)
                  && areSupported(
                      model,
                      ControlFlow.references(problem.graph(), operations.get(operation)),
                      devices)));
    }
    return supported;
  }

  private boolean areSupported(
      Model model, List<Integer> referenced, List<RegisteredDevice> devices) {
    for (int index : referenced) {
      int operations = model.referenced().get(index).operations().size();
      if (supportedOperations(model, 1 + index, devices).cardinality() < operations) {
        return false;
      }
    }
    return true;
  }

  static NeuralNetworksException unsupported(GraphProblem problem, int operation) {
    for (String extension : problem.extensions(operation)) {
      if (problem.candidates().stream()
          .noneMatch(candidate -> candidate.info().extensions().contains(extension))) {
        return new NeuralNetworksException(
            ResultCode.BAD_DATA,
            problem.describe(operation)
                + ": no device here knows the extension "
                + extension
                + "; install one that does");
      }
    }
    String reasons =
        IntStream.range(0, problem.candidates().size())
            .mapToObj(
                candidate ->
                    problem.candidates().get(candidate).id()
                        + ": "
                        + problem.objection(candidate, operation))
            .collect(Collectors.joining("; "));
    String why =
        problem.isControlFlow(operation) && !problem.isInterpretable(operation)
            ? "; with values of unknown size only the cpu device may take it"
            : "";
    return new NeuralNetworksException(
        ResultCode.BAD_DATA,
        problem.describe(operation) + " is supported by no device (" + reasons + why + ")");
  }
}
