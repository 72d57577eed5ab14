// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.ResultCode;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.runtime.plan.PlanBuilder;
import io.thalamus.runtime.plan.PlanBuilder.Draft;
import io.thalamus.runtime.plan.PlannedGraph;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.List;

/** The cutting of one model. Not thread-safe; used once. */
final class Cut {
  private final Model model;
  private final ExecutionPreference preference;
  private final List<RegisteredDevice> devices;
  private final CutSettings settings;
  private final DeclaredCosts costs;
  private final PlanBuilder builder;
  private final Predictor predictor;

  Cut(
      Model model,
      ExecutionPreference preference,
      List<RegisteredDevice> devices,
      CutSettings settings) {
    this.model = model;
    this.preference = preference;
    this.devices = devices;
    this.settings = settings;
    this.costs = new DeclaredCosts(model, preference);
    this.builder = new PlanBuilder(model, settings.policy().name());
    this.predictor = new Predictor(devices, settings.powerBudget());
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
    boolean isSimple = isOneDevice && first != PartitionPolicy.INTERPRETER && !settings.isApart();
    return predictor.predict(
        isSimple ? builder.simple(devices.get(first)) : builder.compound(graph(problem, choices)));
  }

  PlannedModel whole(GraphProblem problem) {
    describe(problem, new int[model.main().operations().size()]);
    return predictor.predict(builder.simple(devices.get(0)));
  }

  private GraphProblem problem(int subgraph) {
    return new GraphProblem(model, subgraph, preference, devices, costs, settings);
  }

  /** What the policy chose, checked. */
  private int[] choices(GraphProblem problem) throws NeuralNetworksException {
    int[] choices = assign(problem);
    int operations = problem.graph().operations().size();
    if (choices == null || choices.length != operations) {
      throw broken("did not choose for all " + operations + " operations");
    }
    for (int operation = 0; operation < operations; operation++) {
      int choice = choices[operation];
      if (choice == PartitionPolicy.NOBODY) {
        throw Partitioner.unsupported(problem, operation);
      }
      if (choice == PartitionPolicy.INTERPRETER) {
        if (!problem.isInterpretable(operation)) {
          throw broken("gave " + problem.describe(operation) + " to the interpreter");
        }
      } else if (choice < 0 || choice >= devices.size()) {
        throw broken("chose device " + choice + " of " + devices.size());
      } else if (!problem.supports(choice, operation)) {
        throw broken(
            "gave "
                + problem.describe(operation)
                + " to "
                + devices.get(choice).id()
                + ", which does not support it");
      }
    }
    return choices;
  }

  private int[] assign(GraphProblem problem) throws NeuralNetworksException {
    try {
      return settings.policy().assign(problem);
    } catch (RuntimeException | LinkageError | StackOverflowError e) {
      throw broken("broke: " + e);
    }
  }

  private NeuralNetworksException broken(String deed) {
    return new NeuralNetworksException(
        ResultCode.OP_FAILED, "the partition policy " + settings.policy().name() + " " + deed);
  }

  private void describe(GraphProblem problem, int[] choices) {
    predictor.add(problem);
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

  private PlannedGraph graph(GraphProblem problem, int[] choices) throws NeuralNetworksException {
    int interpreter = devices.size();
    int[] queueOf = choices.clone();
    for (int operation = 0; operation < queueOf.length; operation++) {
      if (queueOf[operation] == PartitionPolicy.INTERPRETER) {
        queueOf[operation] = interpreter;
      }
    }
    Subgraph graph = problem.graph();
    ReadyQueues queues = new ReadyQueues(new Dependencies(graph), devices.size() + 1);
    queues.begin(queueOf);
    List<Draft> drafts = new ArrayList<>();
    for (int queue = queues.highest(); queue >= 0; queue = queues.highest()) {
      List<Integer> taken = new ArrayList<>();
      for (int next = queues.take(queue); next >= 0; next = queues.take(queue)) {
        taken.add(next);
      }
      if (queue == interpreter) {
        for (int operation : taken) {
          drafts.add(controlFlow(graph, operation));
        }
      } else {
        RegisteredDevice device = devices.get(queue);
        if (settings.isApart()) {
          taken.forEach(each -> drafts.add(new Draft.Execution(device, List.of(each))));
        } else {
          drafts.add(new Draft.Execution(device, taken));
        }
      }
    }
    if (!queues.isComplete()) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, "the operations of the model depend on each other in a circle");
    }
    return builder.graph(
        problem.subgraph(),
        graph,
        drafts,
        (device, index, operand) -> checkBoundary(problem, device, index, operand));
  }

  private Draft controlFlow(Subgraph graph, int index) throws NeuralNetworksException {
    Operation operation = graph.operations().get(index);
    if (operation.type() == OperationCode.IF) {
      return new Draft.If(
          index,
          operation.inputs().get(ControlFlow.IF_CONDITION),
          ControlFlow.arguments(operation),
          operation.outputs(),
          graph(1 + ControlFlow.reference(graph, operation, ControlFlow.IF_THEN)),
          graph(1 + ControlFlow.reference(graph, operation, ControlFlow.IF_ELSE)));
    }
    return new Draft.While(
        index,
        ControlFlow.arguments(operation),
        operation.outputs(),
        graph(1 + ControlFlow.reference(graph, operation, ControlFlow.WHILE_CONDITION)),
        graph(1 + ControlFlow.reference(graph, operation, ControlFlow.WHILE_BODY)));
  }

  private static void checkBoundary(
      GraphProblem problem, RegisteredDevice device, int index, Operand operand)
      throws NeuralNetworksException {
    if (!operand.isSizeKnown()) {
      throw new NeuralNetworksException(
          ResultCode.OP_FAILED,
          "%s: its result %d '%s' would leave %s, but its dimensions are not known before it runs: %s"
              .formatted(
                  problem.describe(writer(problem.graph(), index)),
                  index,
                  operand.name(),
                  device.id(),
                  operand.shape()));
    }
  }

  private static int writer(Subgraph graph, int operand) {
    int operation = 0;
    while (!graph.operations().get(operation).outputs().contains(operand)) {
      operation++;
    }
    return operation;
  }
}
