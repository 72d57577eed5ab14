// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.ResultCode;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Lifetime.TemporaryVariable;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.plan.PlanBuilder;
import io.thalamus.runtime.plan.PlanBuilder.DeviceOperations;
import io.thalamus.runtime.plan.PlanBuilder.NodeSpec;
import io.thalamus.runtime.plan.PlanNode;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlanNode.IfNode;
import io.thalamus.runtime.plan.PlanNode.WhileNode;
import io.thalamus.runtime.plan.PlannedGraph;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.time.Clock;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A partitioner of valid models into steps for devices. Immutable.
 *
 * @param policy chooses the devices
 * @param rules say which feature level operations need
 * @param measurements of the times that operations take
 * @param powerBudget see {@link io.thalamus.api.CompilationOptions#powerBudget}
 * @param onePerOperation whether each operation is a step of its own, to be measured
 */
public record Partitioner(
    PartitionPolicy policy,
    ModelRules rules,
    Measurements measurements,
    OptionalDouble powerBudget,
    boolean onePerOperation) {

  /** Creates a partitioner without measurements. */
  public Partitioner(PartitionPolicy policy, ModelRules rules) {
    this(policy, rules, new Measurements(null, Clock.systemUTC()), OptionalDouble.empty());
  }

  /** Creates a partitioner whose steps are as large as devices take them. */
  public Partitioner(
      PartitionPolicy policy,
      ModelRules rules,
      Measurements measurements,
      OptionalDouble powerBudget) {
    this(policy, rules, measurements, powerBudget, false);
  }

  /** Returns the same partitioner, but with a step for each operation. */
  public Partitioner withOnePerOperation() {
    return new Partitioner(policy, rules, measurements, powerBudget, true);
  }

  /**
   * Partitions a model.
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
      throw NeuralNetworksException.badData("the model has no operations");
    }
    if (devices.isEmpty()) {
      throw NeuralNetworksException.badData("no device is here: install one, for example cpu");
    }
    return new Partitioning(model, preference, devices).plan();
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
            model, 0, preference, List.of(device), new DeclaredCosts(model, preference), this);
    for (int operation = 0; operation < model.main().operations().size(); operation++) {
      if (!problem.supports(0, operation)) {
        throw unsupported(problem, operation);
      }
    }
    return new Partitioning(model, preference, List.of(device)).whole(problem);
  }

  /**
   * Returns the operations of the main graph that at least one device executes. Control flow counts
   * where the interpreter can execute it and its graphs are supported.
   */
  public BitSet supportedOperations(Model model, List<RegisteredDevice> devices) {
    return supportedOperations(model, 0, devices);
  }

  private BitSet supportedOperations(Model model, int subgraph, List<RegisteredDevice> devices) {
    ExecutionPreference any = ExecutionPreference.FAST_SINGLE_ANSWER;
    GraphProblem problem =
        new GraphProblem(model, subgraph, any, devices, new DeclaredCosts(model, any), this);
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

  /** The partitioning of one model. Not thread-safe; used once. */
  private final class Partitioning {
    private final Model model;
    private final ExecutionPreference preference;
    private final List<RegisteredDevice> devices;
    private final DeclaredCosts costs;
    private final PlanBuilder builder;
    private final CostEstimator estimator;

    /** By graph, the operations that come last, in one step. */
    private final Map<Integer, BitSet> tails = new HashMap<>();

    Partitioning(Model model, ExecutionPreference preference, List<RegisteredDevice> devices) {
      this.model = model;
      this.preference = preference;
      this.devices = devices;
      this.costs = new DeclaredCosts(model, preference);
      this.builder = new PlanBuilder(model, policy.name());
      this.estimator = new CostEstimator(devices, powerBudget);
    }

    PlannedModel plan() throws NeuralNetworksException {
      GraphProblem problem = problem(0);
      int[] choices = choices(problem);
      int first = choices[0];
      boolean isOneDevice = true;
      for (int choice : choices) {
        isOneDevice &= choice == first;
      }
      describe(problem, choices);
      boolean isSimple = isOneDevice && first != PartitionPolicy.INTERPRETER && !onePerOperation;
      return estimator.predict(
          isSimple
              ? builder.simple(devices.get(first))
              : builder.compound(graph(problem, choices)));
    }

    PlannedModel whole(GraphProblem problem) {
      describe(problem, new int[model.main().operations().size()]);
      return estimator.predict(builder.simple(devices.get(0)));
    }

    private GraphProblem problem(int subgraph) {
      return new GraphProblem(model, subgraph, preference, devices, costs, Partitioner.this);
    }

    /** Returns the choices of the policy, checked and settled. */
    private int[] choices(GraphProblem problem) throws NeuralNetworksException {
      int[] choices = assign(problem);
      int operations = problem.graph().operations().size();
      if (choices == null || choices.length != operations) {
        throw broken("did not choose for all " + operations + " operations");
      }
      for (int operation = 0; operation < operations; operation++) {
        int choice = choices[operation];
        if (choice == PartitionPolicy.UNASSIGNED) {
          throw unsupported(problem, operation);
        }
        if (choice == PartitionPolicy.INTERPRETER) {
          if (!problem.isInterpretable(operation)) {
            throw broken("gave " + problem.describe(operation) + " to the interpreter");
          }
        } else if (choice < 0 || choice >= devices.size()) {
          throw broken("chose device " + choice + " of " + devices.size());
        } else if (!problem.supports(choice, operation)) {
          throw broken(
              "gave %s to %s, which does not support it"
                  .formatted(problem.describe(operation), devices.get(choice).id()));
        }
      }
      return settled(problem, choices);
    }

    private int[] assign(GraphProblem problem) throws NeuralNetworksException {
      try {
        return policy.assign(problem);
      } catch (RuntimeException | LinkageError | StackOverflowError e) {
        throw broken("broke: " + e);
      }
    }

    private NeuralNetworksException broken(String deed) {
      return new NeuralNetworksException(
          ResultCode.OP_FAILED, "the partition policy " + policy.name() + " " + deed);
    }

    private void describe(GraphProblem problem, int[] choices) {
      estimator.add(problem);
      List<Operation> operations = problem.graph().operations();
      for (int operation = 0; operation < choices.length; operation++) {
        builder.describe(
            new PlannedOperation(
                problem.subgraph(),
                operation,
                operations.get(operation).type(),
                choices[operation] == PartitionPolicy.INTERPRETER
                    ? PlanBuilder.INTERPRETER
                    : devices.get(choices[operation]).id(),
                problem.costsOfSupporters(operation)));
      }
    }

    private PlannedGraph graph(int subgraph) throws NeuralNetworksException {
      GraphProblem problem = problem(subgraph);
      int[] choices = choices(problem);
      describe(problem, choices);
      return graph(problem, choices);
    }

    /**
     * Returns choices by which no value of unknown size crosses between steps. Where one would, the
     * reference gets it with all that depends on it: those come last, in one step.
     */
    private int[] settled(GraphProblem problem, int[] choices) throws NeuralNetworksException {
      Subgraph graph = problem.graph();
      OptionalInt reference = problem.reference();
      boolean isAllKnown = true;
      for (int operand = 0; isAllKnown && operand < graph.operands().size(); operand++) {
        isAllKnown = !isUnknownInside(graph, operand);
      }
      if (onePerOperation || reference.isEmpty() || isAllKnown) {
        return choices;
      }
      List<Group> groups = order(problem, choices);
      BitSet last = behindUnknownSizes(graph, groups);
      if (!crosses(graph, groups)
          || !last.stream().allMatch(each -> problem.supports(reference.getAsInt(), each))) {
        return choices;
      }
      int[] settled = choices.clone();
      last.stream().forEach(operation -> settled[operation] = reference.getAsInt());
      tails.put(problem.subgraph(), last);
      return settled;
    }

    /** Operations that run one after the other in the same place. */
    private record Group(int place, List<Integer> operations) {}

    /** Returns the operations in groups, in the order of execution. */
    private List<Group> order(GraphProblem problem, int[] choices) throws NeuralNetworksException {
      int interpreter = devices.size();
      // The lowest queue is drained when nothing else can go on.
      BitSet tail = tails.getOrDefault(problem.subgraph(), new BitSet());
      int[] queueOf = new int[choices.length];
      for (int operation = 0; operation < queueOf.length; operation++) {
        int choice = choices[operation];
        int place = choice == PartitionPolicy.INTERPRETER ? interpreter : choice;
        queueOf[operation] = tail.get(operation) ? 0 : 1 + place;
      }
      ReadyQueues queues = new ReadyQueues(new Dependencies(problem.graph()), devices.size() + 2);
      queues.begin(queueOf);
      List<Group> groups = new ArrayList<>();
      for (int queue = queues.highest(); queue >= 0; queue = queues.highest()) {
        List<Integer> taken = new ArrayList<>();
        for (int next = queues.take(queue); next >= 0; next = queues.take(queue)) {
          taken.add(next);
        }
        int place = queue == 0 ? problem.reference().orElseThrow() : queue - 1;
        groups.add(new Group(place, taken));
      }
      if (!queues.isComplete()) {
        throw NeuralNetworksException.badData(
            "the operations of the model depend on each other in a circle");
      }
      return groups;
    }

    private PlannedGraph graph(GraphProblem problem, int[] choices) throws NeuralNetworksException {
      Subgraph graph = problem.graph();
      List<NodeSpec> nodes = new ArrayList<>();
      for (Group group : order(problem, choices)) {
        if (group.place() == devices.size()) {
          for (int operation : group.operations()) {
            nodes.add(controlFlow(graph, operation));
          }
        } else {
          RegisteredDevice device = devices.get(group.place());
          if (onePerOperation) {
            group
                .operations()
                .forEach(each -> nodes.add(new DeviceOperations(device, List.of(each))));
          } else {
            nodes.add(new DeviceOperations(device, group.operations()));
          }
        }
      }
      PlannedGraph planned = builder.graph(problem.subgraph(), graph, nodes);
      for (PlanNode node : planned.nodes()) {
        if (node instanceof ExecutionStep step) {
          checkBoundary(problem, step);
        }
      }
      return planned;
    }

    private NodeSpec controlFlow(Subgraph graph, int index) throws NeuralNetworksException {
      Operation operation = graph.operations().get(index);
      if (operation.type() == OperationCode.IF) {
        return new IfNode(
            index,
            operation.inputs().get(ControlFlow.IF_CONDITION),
            ControlFlow.arguments(operation),
            operation.outputs(),
            graph(1 + ControlFlow.reference(graph, operation, ControlFlow.IF_THEN)),
            graph(1 + ControlFlow.reference(graph, operation, ControlFlow.IF_ELSE)));
      }
      return new WhileNode(
          index,
          ControlFlow.arguments(operation),
          operation.outputs(),
          graph(1 + ControlFlow.reference(graph, operation, ControlFlow.WHILE_CONDITION)),
          graph(1 + ControlFlow.reference(graph, operation, ControlFlow.WHILE_BODY)));
    }
  }

  /** Returns whether a value of unknown size would be written in one group and read in another. */
  private static boolean crosses(Subgraph graph, List<Partitioning.Group> groups) {
    int[] writtenIn = new int[graph.operands().size()];
    for (int group = 0; group < groups.size(); group++) {
      for (int operation : groups.get(group).operations()) {
        for (int input : graph.operations().get(operation).inputs()) {
          if (isUnknownInside(graph, input) && writtenIn[input] != group) {
            return true;
          }
        }
        for (int output : graph.operations().get(operation).outputs()) {
          writtenIn[output] = group;
        }
      }
    }
    return false;
  }

  /** Returns the operations that write values of unknown size, and all that depend on them. */
  private static BitSet behindUnknownSizes(Subgraph graph, List<Partitioning.Group> groups) {
    BitSet found = new BitSet();
    BitSet values = new BitSet();
    for (Partitioning.Group group : groups) {
      for (int index : group.operations()) {
        Operation operation = graph.operations().get(index);
        if (operation.outputs().stream().anyMatch(each -> isUnknownInside(graph, each))
            || operation.inputs().stream().anyMatch(values::get)) {
          found.set(index);
          operation.outputs().forEach(values::set);
        }
      }
    }
    return found;
  }

  private static boolean isUnknownInside(Subgraph graph, int operand) {
    Operand value = graph.operands().get(operand);
    return value.lifetime() instanceof TemporaryVariable && !value.isSizeKnown();
  }

  /** Refuses a step whose results cannot cross to others. */
  private static void checkBoundary(GraphProblem problem, ExecutionStep step)
      throws NeuralNetworksException {
    for (int output : step.outputs()) {
      Operand operand = problem.graph().operands().get(output);
      if (isUnknownInside(problem.graph(), output)) {
        throw new NeuralNetworksException(
            ResultCode.OP_FAILED,
            "%s: its result %d '%s' would leave %s, but its dimensions are not known before it runs: %s"
                .formatted(
                    problem.describe(writer(problem.graph(), output)),
                    output,
                    operand.name(),
                    step.device().id(),
                    operand.shape()));
      }
    }
  }

  private static int writer(Subgraph graph, int operand) {
    int operation = 0;
    while (!graph.operations().get(operation).outputs().contains(operand)) {
      operation++;
    }
    return operation;
  }

  private static NeuralNetworksException unsupported(GraphProblem problem, int operation) {
    for (String extension : problem.extensions(operation)) {
      if (problem.candidates().stream()
          .noneMatch(candidate -> candidate.info().extensions().contains(extension))) {
        return NeuralNetworksException.badData(
            "%s: no device here knows the extension %s; install one that does"
                .formatted(problem.describe(operation), extension));
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
    return NeuralNetworksException.badData(
        problem.describe(operation) + " is supported by no device (" + reasons + why + ")");
  }
}
