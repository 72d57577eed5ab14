// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.measurement.OperationSignature;
import io.thalamus.runtime.measurement.StepObservation;
import io.thalamus.runtime.measurement.StepObservation.Part;
import io.thalamus.runtime.partition.ModelRules;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.partition.Partitioner;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The searching policy against all cuts there are, where they can be counted. */
class SearchPolicyTest {
  private static final ModelRules V1_0 = (model, graph, operation) -> FeatureLevel.V1_0;
  private static final OperationCode[] TYPES = {
    OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.MAXIMUM
  };

  private final long base = Long.getLong("thalamus.seed", 1);
  private Measurements measurements = new Measurements(null, Clock.systemUTC());

  private PlannedModel plan(
      PartitionPolicy policy,
      Model model,
      ExecutionPreference preference,
      OptionalDouble budget,
      List<RegisteredDevice> devices)
      throws NeuralNetworksException {
    return new Partitioner(policy, V1_0, measurements, budget)
        .partition(model, preference, devices);
  }

  private Plan plan(PartitionPolicy policy, Model model, List<RegisteredDevice> devices)
      throws NeuralNetworksException {
    return plan(
            policy, model, ExecutionPreference.FAST_SINGLE_ANSWER, OptionalDouble.empty(), devices)
        .description();
  }

  /** A policy that always says the same. */
  private record Fixed(int... choices) implements PartitionPolicy {
    @Override
    public String name() {
      return "fixed";
    }

    @Override
    public int[] assign(io.thalamus.runtime.policy.PartitionProblem problem) {
      return choices.clone();
    }
  }

  private static List<RegisteredDevice> devices(Random random, int count) {
    List<RegisteredDevice> devices = new ArrayList<>();
    for (int d = 0; d < count; d++) {
      boolean isReference = d == count - 1;
      int claims = isReference ? 0xF : random.nextInt(1, 16);
      PerformanceInfo cost =
          isReference
              ? PerformanceInfo.of(1)
              : new PerformanceInfo(
                  0.1f + random.nextFloat() * 1.2f, 0.1f + random.nextFloat() * 1.2f);
      LimitedDevice device =
          new LimitedDevice(
              LimitedDevice.info(
                      isReference ? "thalamus-cpu" : "test-" + d,
                      isReference ? DeviceType.CPU : DeviceType.ACCELERATOR,
                      1)
                  .capabilities(uniform(cost))
                  .build(),
              (graph, operation) ->
                  (claims >> List.of(TYPES).indexOf((OperationCode) operation.type()) & 1) == 1);
      devices.add(TestRuntime.registered(isReference ? "cpu" : "d" + d, device));
    }
    return devices;
  }

  private static Capabilities uniform(PerformanceInfo info) {
    Map<OperandType, PerformanceInfo> costs = new HashMap<>();
    for (OperandCode type : OperandCode.values()) {
      if (type != OperandCode.SUBGRAPH) {
        costs.put(type, info);
      }
    }
    return new Capabilities(info, info, costs, info, info);
  }

  private static Model graph(Random random, int operations, boolean isChain) {
    Graphs.Builder g = new Graphs.Builder(1 + random.nextInt(3000));
    List<Integer> known = new ArrayList<>(List.of(g.input("x"), g.input("y")));
    for (int i = 0; i < operations; i++) {
      boolean isLast = i == operations - 1;
      int a = isChain || isLast ? known.getLast() : known.get(random.nextInt(known.size()));
      int b = isChain ? a : known.get(random.nextInt(known.size()));
      boolean isOutput = isLast || (!isChain && random.nextInt(6) == 0);
      int to = isOutput ? g.output("o" + i) : g.temporary("t" + i);
      g.op(TYPES[random.nextInt(TYPES.length)], a, b, to);
      known.add(to);
    }
    return g.model();
  }

  /** Some operations are measured on some devices, with times that no declaration foretells. */
  private void measure(Random random, Model model, List<RegisteredDevice> devices) {
    measurements = new Measurements(null, Clock.systemUTC());
    for (RegisteredDevice device : devices) {
      for (Operation operation : model.main().operations()) {
        if (random.nextBoolean()) {
          String signature = OperationSignature.of(model, model.main(), operation).orElseThrow();
          double nanos = 1000 + random.nextDouble() * 200_000;
          measurements.learn(
              List.of(
                  new StepObservation(
                      device.info(), List.of(new Part(signature, nanos)), 0, nanos)));
        }
      }
    }
  }

  /** Returns the time of the cheapest of all cuts. */
  private double least(Model model, List<RegisteredDevice> devices) throws Exception {
    int operations = model.main().operations().size();
    int[] choices = new int[operations];
    double least = Double.POSITIVE_INFINITY;
    int place = 0;
    while (place < operations) {
      try {
        least = Math.min(least, plan(new Fixed(choices), model, devices).prediction().nanos());
      } catch (NeuralNetworksException e) {
        // Not supported: no cut.
      }
      place = 0;
      while (place < operations && ++choices[place] == devices.size()) {
        choices[place++] = 0;
      }
    }
    return least;
  }

  @Test
  void inAChainItFindsTheCheapestOfAllCuts() throws Exception {
    System.out.println("search on chains: seed = " + base);
    for (int i = 0; i < 40; i++) {
      Random random = new Random(base + i);
      Model model = graph(random, 2 + random.nextInt(5), true);
      List<RegisteredDevice> devices = devices(random, 2 + random.nextInt(2));
      measure(random, model, devices);
      double found = plan(new SearchPolicy(0), model, devices).prediction().nanos();
      assertEquals(least(model, devices), found, 1e-6 * found, "seed " + (base + i));
    }
  }

  @Test
  void elsewhereItIsCloseToTheCheapestAndNeverWorseThanNnapi() throws Exception {
    int best = 0;
    double worst = 1;
    int graphs = 60;
    for (int i = 0; i < graphs; i++) {
      Random random = new Random(base + 1000 + i);
      Model model = graph(random, 3 + random.nextInt(4), false);
      List<RegisteredDevice> devices = devices(random, 3);
      measure(random, model, devices);
      double found = plan(new SearchPolicy(0), model, devices).prediction().nanos();
      double least = least(model, devices);
      assertTrue(found >= least * (1 - 1e-6), "seed " + (base + 1000 + i));
      best += found <= least * (1 + 1e-6) ? 1 : 0;
      worst = Math.max(worst, found / least);
    }
    System.out.println(
        "search on graphs: seed = "
            + base
            + ", best = "
            + best
            + " of "
            + graphs
            + ", worst = "
            + worst);
    assertTrue(best >= graphs * 9 / 10, "only " + best + " are the best, seed " + base);
  }

  @Test
  void onLargeGraphsItIsNeverWorseThanNnapi() throws Exception {
    for (int i = 0; i < 30; i++) {
      Random random = new Random(base + 2000 + i);
      Model model = graph(random, 20 + random.nextInt(150), false);
      List<RegisteredDevice> devices = devices(random, 2 + random.nextInt(4));
      measure(random, model, devices);
      double nnapi = plan(new NnapiPolicy(), model, devices).prediction().nanos();
      Plan found = plan(new SearchPolicy(0), model, devices);
      assertTrue(
          found.prediction().nanos() <= nnapi * (1 + 1e-9),
          "seed " + (base + 2000 + i) + ": " + found.prediction().nanos() + " > " + nnapi);
      assertEquals(
          found.steps(), plan(new SearchPolicy(0), model, devices).steps(), "the same each time");
    }
  }

  @Test
  void itReckonsAsThePlanIsPredicted() throws Exception {
    for (int i = 0; i < 30; i++) {
      Random random = new Random(base + 3000 + i);
      Model model = graph(random, 2 + random.nextInt(40), false);
      List<RegisteredDevice> devices = devices(random, 4);
      measure(random, model, devices);
      double[] reckoned = new double[1];
      PartitionPolicy spy =
          new PartitionPolicy() {
            @Override
            public String name() {
              return "spy";
            }

            @Override
            public int[] assign(io.thalamus.runtime.policy.PartitionProblem problem) {
              int[] choices = new NnapiPolicy().assign(problem);
              GraphCosts costs = new GraphCosts(problem, choices);
              reckoned[0] =
                  new CutCost(
                          costs, new io.thalamus.runtime.partition.Dependencies(problem.graph()))
                      .of(choices, Goal.FAST);
              return choices;
            }
          };
      double predicted = plan(spy, model, devices).prediction().nanos();
      assertEquals(predicted, reckoned[0], 1e-6 * predicted, "seed " + (base + 3000 + i));
    }
  }

  @Test
  void aDescentCostsWhatItSays() throws Exception {
    for (int i = 0; i < 30; i++) {
      Random random = new Random(base + 5000 + i);
      Model model = graph(random, 20 + random.nextInt(100), false);
      List<RegisteredDevice> devices = devices(random, 4);
      measure(random, model, devices);
      String seed = "seed " + (base + 5000 + i);
      PartitionPolicy spy =
          new PartitionPolicy() {
            @Override
            public String name() {
              return "spy";
            }

            @Override
            public int[] assign(io.thalamus.runtime.policy.PartitionProblem problem) {
              int[] choices = new NnapiPolicy().assign(problem);
              GraphCosts costs = new GraphCosts(problem, choices);
              CutCost cost =
                  new CutCost(
                      costs, new io.thalamus.runtime.partition.Dependencies(problem.graph()));
              // Steps that few devices can take as a whole.
              for (int operation = 0; operation < choices.length; operation++) {
                int choice = random.nextInt(devices.size());
                choices[operation] = costs.isAllowed(choice, operation) ? choice : 3;
              }
              double said = new Descent(costs, cost, 2000).improve(choices, Goal.FAST);
              assertEquals(cost.of(choices, Goal.FAST), said, 1e-9 * said, seed);
              return choices;
            }
          };
      plan(spy, model, devices);
    }
  }

  @Test
  void anInputThatNobodyReadsCostsNothing() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1000);
    int x = g.input("x");
    g.input("unread");
    int y = g.output("y");
    g.op(OperationCode.ADD, x, x, y);
    LimitedDevice cpu = LimitedDevice.cpu();
    Plan.Step step =
        plan(new SearchPolicy(0), g.model(), List.of(TestRuntime.registered("cpu", cpu)))
            .steps()
            .getFirst();
    assertEquals(List.of("x"), step.inputs().stream().map(Plan.Crossing::name).toList());
  }

  @Test
  void aBoundaryThatCostsMoreThanItSavesIsNotCrossed() throws Exception {
    // NNAPI sends the MUL in the middle away, since it is declared cheaper there.
    Graphs.Builder g = new Graphs.Builder(10);
    int x = g.input("x");
    int t = g.temporary("t");
    int u = g.temporary("u");
    int y = g.output("y");
    g.op(OperationCode.ADD, x, x, t);
    g.op(OperationCode.MUL, t, t, u);
    g.op(OperationCode.ADD, u, u, y);
    LimitedDevice adder = LimitedDevice.all("adder", 0.5);
    LimitedDevice multiplier = LimitedDevice.of("multiplier", 0.4, OperationCode.MUL);
    List<RegisteredDevice> devices =
        List.of(
            TestRuntime.registered("adder", adder),
            TestRuntime.registered("multiplier", multiplier));
    assertEquals(3, plan(new NnapiPolicy(), g.model(), devices).steps().size());
    assertEquals(1, plan(new SearchPolicy(0), g.model(), devices).steps().size());
  }

  @Test
  void whatWasMeasuredOutweighsWhatIsDeclared() throws Exception {
    Model model = Graphs.twice(1000);
    LimitedDevice boaster = LimitedDevice.all("boaster", 0.1);
    LimitedDevice cpu = LimitedDevice.cpu();
    List<RegisteredDevice> devices =
        List.of(TestRuntime.registered("boaster", boaster), TestRuntime.registered("cpu", cpu));
    String signature =
        OperationSignature.of(model, model.main(), model.main().operations().getFirst())
            .orElseThrow();
    measurements.learn(
        List.of(
            new StepObservation(boaster.info(), List.of(new Part(signature, 1)), 8000, 9_000_000),
            new StepObservation(cpu.info(), List.of(new Part(signature, 1)), 8000, 100_000)));
    assertEquals("boaster", plan(new NnapiPolicy(), model, devices).steps().getFirst().device());
    Plan plan = plan(new SearchPolicy(0), model, devices);
    assertEquals("cpu", plan.steps().getFirst().device());
    assertTrue(plan.prediction().isMeasured());
  }

  @Test
  void whatIsLostInNoiseIsLeftToNnapi() throws Exception {
    Model model = Graphs.twice(1000);
    LimitedDevice fast = LimitedDevice.all("fast", 0.5);
    LimitedDevice cpu = LimitedDevice.cpu();
    List<RegisteredDevice> devices =
        List.of(TestRuntime.registered("fast", fast), TestRuntime.registered("cpu", cpu));
    String signature =
        OperationSignature.of(model, model.main(), model.main().operations().getFirst())
            .orElseThrow();
    for (int slower : new int[] {103, 130}) {
      measurements = new Measurements(null, Clock.systemUTC());
      measurements.learn(
          List.of(
              new StepObservation(
                  fast.info(), List.of(new Part(signature, 1)), 0, slower * 100_000),
              new StepObservation(cpu.info(), List.of(new Part(signature, 1)), 0, 10_000_000)));
      assertEquals(
          slower == 103 ? "fast" : "cpu",
          plan(new SearchPolicy(), model, devices).steps().getFirst().device());
      assertEquals("cpu", plan(new SearchPolicy(0), model, devices).steps().getFirst().device());
    }
  }

  @Test
  void whatTheUsualPolicyGivesUpIsNoise() throws Exception {
    for (int i = 0; i < 30; i++) {
      Random random = new Random(base + 4000 + i);
      Model model = graph(random, 5 + random.nextInt(60), false);
      List<RegisteredDevice> devices = devices(random, 3);
      measure(random, model, devices);
      double nnapi = plan(new NnapiPolicy(), model, devices).prediction().nanos();
      double least = plan(new SearchPolicy(0), model, devices).prediction().nanos();
      double usual = plan(new SearchPolicy(), model, devices).prediction().nanos();
      assertTrue(
          usual <= Math.min(nnapi, least * 1.05) * (1 + 1e-9),
          "seed " + (base + 4000 + i) + ": " + usual + ", least " + least + ", nnapi " + nnapi);
    }
  }

  @Test
  void valuesOfUnknownSizeStayOnOneDevice() throws Exception {
    Graphs.Builder g = new Graphs.Builder(0, 2);
    int x = g.input("x");
    int t = g.temporary("t");
    int y = g.output("y");
    g.op(OperationCode.ADD, x, x, t);
    g.op(OperationCode.MUL, t, t, y);
    LimitedDevice adder = LimitedDevice.of("adder", 0.1, OperationCode.ADD);
    LimitedDevice cpu = LimitedDevice.cpu();
    Plan plan =
        plan(
            new SearchPolicy(0),
            g.model(),
            List.of(TestRuntime.registered("adder", adder), TestRuntime.registered("cpu", cpu)));
    assertEquals(1, plan.steps().size());
    assertEquals("cpu", plan.steps().getFirst().device());
  }

  @Test
  void aPowerBudgetIsKeptWhereItCanBe() throws Exception {
    LimitedDevice fast =
        new LimitedDevice(
            LimitedDevice.info("test-fast", DeviceType.GPU, 1)
                .capabilities(uniform(new PerformanceInfo(0.2f, 2f)))
                .build(),
            (graph, operation) -> true);
    LimitedDevice frugal =
        new LimitedDevice(
            LimitedDevice.info("test-frugal", DeviceType.ACCELERATOR, 1)
                .capabilities(uniform(new PerformanceInfo(0.9f, 0.25f)))
                .build(),
            (graph, operation) -> true);
    LimitedDevice cpu = LimitedDevice.cpu();
    List<RegisteredDevice> devices =
        List.of(
            TestRuntime.registered("fast", fast),
            TestRuntime.registered("frugal", frugal),
            TestRuntime.registered("cpu", cpu));
    // Work enough that steps cost nothing beside it.
    Graphs.Builder g = new Graphs.Builder(3_000_000);
    int previous = g.input("x");
    for (int i = 0; i < 12; i++) {
      int next = i == 11 ? g.output("y") : g.temporary("t" + i);
      g.op(OperationCode.ADD, previous, previous, next);
      previous = next;
    }
    double before = 0;
    for (double budget : new double[] {3, 1.5, 1, 0.6}) {
      Plan plan = budgeted(g.model(), devices, budget);
      assertTrue(plan.prediction().energy().getAsDouble() <= budget * 1.0001, plan::toString);
      assertEquals(List.of(), plan.prediction().remarks());
      assertTrue(plan.prediction().nanos() >= before, "less power cannot be faster");
      before = plan.prediction().nanos();
    }
    Plan impossible = budgeted(g.model(), devices, 0.01);
    assertEquals("frugal", impossible.steps().getFirst().device());
    assertTrue(
        impossible.prediction().remarks().getFirst().startsWith("the power budget of 0.0100"),
        () -> impossible.prediction().remarks().toString());
    Plan saving =
        plan(
                new SearchPolicy(0),
                g.model(),
                ExecutionPreference.LOW_POWER,
                OptionalDouble.empty(),
                devices)
            .description();
    assertEquals(1, saving.steps().size());
    assertEquals("frugal", saving.steps().getFirst().device());
  }

  private Plan budgeted(Model model, List<RegisteredDevice> devices, double budget)
      throws NeuralNetworksException {
    return plan(
            new SearchPolicy(0),
            model,
            ExecutionPreference.FAST_SINGLE_ANSWER,
            OptionalDouble.of(budget),
            devices)
        .description();
  }
}
