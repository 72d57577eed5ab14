// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The behaviours that AOSP's TestPartitioning asserts of plans without control flow. */
class NnapiPartitioningTest {
  private static final ModelRules V1_0 = (model, graph, operation) -> FeatureLevel.V1_0;

  static List<RegisteredDevice> devices(Device... devices) {
    List<RegisteredDevice> all = new ArrayList<>();
    for (Device device : devices) {
      String name = device.info().name();
      all.add(TestRuntime.registered(name.substring(name.indexOf('-') + 1), device));
    }
    return all;
  }

  static PlannedModel plan(Model model, ExecutionPreference preference, Device... devices)
      throws NeuralNetworksException {
    return new Partitioner(new NnapiPolicy(), V1_0).partition(model, preference, devices(devices));
  }

  private static PlannedModel plan(Model model, Device... devices) throws NeuralNetworksException {
    return plan(model, ExecutionPreference.FAST_SINGLE_ANSWER, devices);
  }

  static List<String> steps(PlannedModel plan) {
    return plan.steps().stream().map(step -> step.device().id()).toList();
  }

  @Test
  void bestOfTwoCapableDevicesGetsTheWholeModelAsItIs() throws Exception {
    Model model = Graphs.addThenMul();
    PlannedModel plan =
        plan(
            model,
            LimitedDevice.all("bad", 0.9),
            LimitedDevice.all("good", 0.5),
            LimitedDevice.cpu());
    assertTrue(plan.isSimple());
    assertEquals(List.of("good"), steps(plan));
    assertSame(model, plan.steps().get(0).model());
    Plan.PlannedOperation first = plan.description().operations().get(0);
    assertEquals("good", first.device());
    assertEquals((double) 0.9f, first.costs().get("bad"));
    assertEquals(1.0, first.costs().get("cpu"));
  }

  @Test
  void cpuWinsTies() throws Exception {
    PlannedModel plan =
        plan(
            Graphs.addThenMul(),
            LimitedDevice.all("bad", 1.1),
            LimitedDevice.all("equal", 1.0),
            LimitedDevice.cpu());
    assertTrue(plan.isSimple());
    assertEquals(List.of("cpu"), steps(plan));
  }

  @Test
  void otherTiesGoToTheEarlierDevice() throws Exception {
    PlannedModel plan =
        plan(
            Graphs.addThenMul(),
            LimitedDevice.all("first", 0.5),
            LimitedDevice.all("second", 0.5),
            LimitedDevice.cpu());
    assertEquals(List.of("first"), steps(plan));
  }

  @Test
  void twoDevicesGetOneOperationEachWithNnapisOrderOfInputs() throws Exception {
    Model model = Graphs.addThenMul();
    PlannedModel plan =
        plan(
            model,
            LimitedDevice.of("adder", 0.9, OperationCode.ADD),
            LimitedDevice.of("multiplier", 0.5, OperationCode.MUL),
            LimitedDevice.cpu());
    assertFalse(plan.isSimple());
    assertEquals(List.of("adder", "multiplier"), steps(plan));
    ExecutionStep add = plan.steps().get(0);
    assertEquals(List.of(0, 1), add.inputs());
    assertEquals(List.of(3), add.outputs());
    assertEquals(List.of(0), add.operations());
    ExecutionStep mul = plan.steps().get(1);
    // Inputs of the model come before temporaries, though the temporary is read first.
    assertEquals(List.of(2, 3), mul.inputs());
    assertEquals(List.of(4), mul.outputs());
    assertEquals(2, mul.model().main().inputIndexes().size());
    assertEquals("c", mul.model().main().input(0).name());
    assertEquals("t", mul.model().main().input(1).name());
    assertEquals("out", mul.model().main().output(0).name());
    assertEquals(
        List.of(new Plan.Crossing(3, "t", 16)), plan.description().steps().get(0).outputs());
  }

  @Test
  void anOutputOfTheModelCanBeTheInputOfAStep() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int a = g.input("a");
    int b = g.input("b");
    int sum = g.output("sum");
    int square = g.output("square");
    g.op(OperationCode.ADD, a, b, sum);
    g.op(OperationCode.MUL, sum, sum, square);
    PlannedModel plan =
        plan(
            g.model(),
            LimitedDevice.of("0", 0.5, OperationCode.ADD),
            LimitedDevice.of("1", 0.5, OperationCode.MUL),
            LimitedDevice.cpu());
    assertEquals(List.of("0", "1"), steps(plan));
    assertEquals(List.of(sum), plan.steps().get(0).outputs());
    assertEquals(List.of(sum), plan.steps().get(1).inputs());
    assertEquals(List.of(square), plan.steps().get(1).outputs());
    assertEquals(1, plan.steps().get(1).model().main().inputIndexes().size());
  }

  @Test
  void stepsAreAsLargeAsPossibleAndTheHighestIndexGoesFirst() throws Exception {
    // Two chains ADD, MUL, ADD that depend on nothing of each other.
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    int y = g.input("y");
    int[] ends = {g.output("p"), g.output("q")};
    int[] starts = {x, y};
    for (int chain = 0; chain < 2; chain++) {
      int t = g.temporary("t" + chain);
      int u = g.temporary("u" + chain);
      g.op(OperationCode.ADD, starts[chain], starts[chain], t);
      g.op(OperationCode.MUL, t, t, u);
      g.op(OperationCode.ADD, u, u, ends[chain]);
    }
    PlannedModel plan =
        plan(
            g.model(),
            LimitedDevice.of("0", 0.5, OperationCode.ADD),
            LimitedDevice.of("1", 0.5, OperationCode.MUL),
            LimitedDevice.cpu());
    assertEquals(List.of("0", "1", "0"), steps(plan));
    assertEquals(List.of(0, 3), plan.steps().get(0).operations());
    assertEquals(List.of(1, 4), plan.steps().get(1).operations());
    assertEquals(List.of(2, 5), plan.steps().get(2).operations());
  }

  @Test
  void theReadyOperationOfTheLaterDeviceIsFirst() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    int p = g.output("p");
    int q = g.output("q");
    g.op(OperationCode.ADD, x, x, p);
    g.op(OperationCode.MUL, x, x, q);
    PlannedModel plan =
        plan(
            g.model(),
            LimitedDevice.of("0", 0.5, OperationCode.ADD),
            LimitedDevice.of("1", 0.5, OperationCode.MUL),
            LimitedDevice.cpu());
    assertEquals(List.of("1", "0"), steps(plan));
  }

  @Test
  void operationsThatBelongToTheCpuAreAStepOfItsOwn() throws Exception {
    // AOSP's Cpu test: the device claims one kind, the CPU gets the other, wherever it stands.
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    int previous = x;
    for (int i = 0; i < 5; i++) {
      int next = i == 4 ? g.output("y") : g.temporary("t" + i);
      g.op(i < 3 ? OperationCode.MUL : OperationCode.ADD, previous, x, next);
      previous = next;
    }
    PlannedModel plan =
        plan(g.model(), LimitedDevice.of("1", 0.9, OperationCode.ADD), LimitedDevice.cpu());
    assertEquals(List.of("cpu", "1"), steps(plan));
    assertEquals(List.of(0, 1, 2), plan.steps().get(0).operations());
    assertEquals(List.of(3, 4), plan.steps().get(1).operations());
  }

  @Test
  void relaxedModelsArePricedByTheRelaxedEntries() throws Exception {
    Device f32 = priced("f32", LimitedDevice.capabilities(0.8f, 0.9f));
    Device f16 = priced("f16", LimitedDevice.capabilities(0.9f, 0.8f));
    Model exact = Graphs.twice(2);
    Model relaxed = new Model(exact.main(), List.of(), true);
    assertEquals(List.of("f32"), steps(plan(exact, f32, f16, LimitedDevice.cpu())));
    assertEquals(List.of("f16"), steps(plan(relaxed, f32, f16, LimitedDevice.cpu())));
  }

  private static Device priced(String id, Capabilities capabilities) {
    return new LimitedDevice(
        LimitedDevice.info("test-" + id, DeviceType.ACCELERATOR, 1)
            .capabilities(capabilities)
            .build(),
        (graph, operation) -> true);
  }

  @Test
  void lowPowerIsPricedByPowerAllElseByTime() throws Exception {
    Device fast = priced("fast", uniform(new PerformanceInfo(0.5f, 1.5f)));
    Device frugal = priced("frugal", uniform(new PerformanceInfo(1.5f, 0.5f)));
    for (ExecutionPreference preference : ExecutionPreference.values()) {
      String expected = preference == ExecutionPreference.LOW_POWER ? "frugal" : "fast";
      assertEquals(
          List.of(expected),
          steps(plan(Graphs.twice(2), preference, fast, frugal, LimitedDevice.cpu())),
          preference.name());
    }
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

  @Test
  void theTypeOfTheFirstInputIsThePriceTag() throws Exception {
    for (OperandCode type : OperandCode.values()) {
      if (!type.isTensor()) {
        continue;
      }
      Graphs.Builder g = new Graphs.Builder(1);
      Quantization quantization = Quantization.NONE;
      int in = g.raw().input("in", type, Shape.of(1), quantization);
      int other = g.input("other");
      int out = g.output("out");
      g.op(OperationCode.ADD, in, other, out);
      Device base = priced("base", LimitedDevice.capabilities(0.5f, 0.5f));
      assertEquals(
          List.of("better"),
          steps(plan(g.model(), base, priced("better", changed(type, 0.25f)))),
          type.name());
      assertEquals(
          List.of("base"),
          steps(plan(g.model(), base, priced("worse", changed(type, 0.75f)))),
          type.name());
    }
  }

  /** Devices declare what tensors cost, not what the axis in front of them does. */
  @Test
  void aScalarInFrontOfTensorsIsNoPriceTag() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    g.op(OperationCode.ADD, g.raw().int32(0), g.input("in"), g.output("out"));
    Map<OperandType, PerformanceInfo> costs =
        Map.of(OperandCode.TENSOR_FLOAT32, PerformanceInfo.of(0.5f));
    PerformanceInfo half = PerformanceInfo.of(0.5f);
    Device floats = priced("floats", new Capabilities(half, half, costs, half, half));
    assertEquals(List.of("floats"), steps(plan(g.model(), floats, LimitedDevice.cpu())));
  }

  private static Capabilities changed(OperandCode type, float cost) {
    Capabilities base = LimitedDevice.capabilities(0.5f, 0.5f);
    Map<OperandType, PerformanceInfo> costs = new HashMap<>(base.operandPerformance());
    costs.put(type, PerformanceInfo.of(cost));
    return new Capabilities(
        base.relaxedFloat32toFloat16Scalar(),
        base.relaxedFloat32toFloat16Tensor(),
        costs,
        base.ifPerformance(),
        base.whilePerformance());
  }

  @Test
  void aTypeThatADeviceDoesNotMentionIsTheLastChoice() throws Exception {
    Capabilities silent =
        new Capabilities(
            PerformanceInfo.of(0.1f),
            PerformanceInfo.of(0.1f),
            Map.of(),
            PerformanceInfo.of(0.1f),
            PerformanceInfo.of(0.1f));
    assertEquals(
        List.of("slow"),
        steps(plan(Graphs.twice(2), priced("silent", silent), LimitedDevice.all("slow", 100))));
    assertEquals(List.of("silent"), steps(plan(Graphs.twice(2), priced("silent", silent))));
  }

  @Test
  void aDeviceOfAnOlderLevelDoesNotGetNewerOperations() throws Exception {
    Device old =
        new LimitedDevice(
            LimitedDevice.info("test-old", DeviceType.ACCELERATOR, 0.5)
                .featureLevel(FeatureLevel.V1_0)
                .build(),
            (graph, operation) -> true);
    ModelRules levels =
        (model, graph, operation) ->
            operation.type() == OperationCode.MUL ? FeatureLevel.V1_2 : FeatureLevel.V1_0;
    PlannedModel plan =
        new Partitioner(new NnapiPolicy(), levels)
            .partition(
                Graphs.addThenMul(),
                ExecutionPreference.FAST_SINGLE_ANSWER,
                devices(old, LimitedDevice.cpu()));
    assertEquals(List.of("old", "cpu"), steps(plan));
  }

  @Test
  void badAnswersCountAsNoSupport() throws Exception {
    FaultyDevice faulty = new FaultyDevice(LimitedDevice.all("faulty", 0.1));
    List<FaultyDevice.Support> answers =
        List.of(
            model -> {
              throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "no");
            },
            model -> {
              throw new IllegalStateException("broken");
            },
            model -> {
              BitSet tooLong = new BitSet();
              tooLong.set(0, 3);
              return tooLong;
            },
            model -> null);
    for (FaultyDevice.Support answer : answers) {
      faulty.onSupport(answer);
      assertEquals(List.of("cpu"), steps(plan(Graphs.addThenMul(), faulty, LimitedDevice.cpu())));
    }
  }

  @Test
  void whatNobodySupportsIsNamedWithEachReason() {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                plan(
                    Graphs.addThenMul(),
                    LimitedDevice.of("adder", 0.5, OperationCode.ADD),
                    new FaultyDevice(LimitedDevice.all("faulty", 0.1))
                        .onSupport(
                            model -> {
                              throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "asleep");
                            })));
    assertEquals(ResultCode.BAD_DATA, e.code());
    assertEquals(
        "MUL (operation 1) is supported by no device"
            + " (adder: it does not support it; faulty: it refused the model: asleep)",
        e.getMessage());
  }

  @Test
  void withoutDevicesThereIsNoPlan() {
    NeuralNetworksException e =
        assertThrows(NeuralNetworksException.class, () -> plan(Graphs.addThenMul()));
    assertEquals(ResultCode.BAD_DATA, e.code());
  }

  @Test
  void aTemporaryOfUnknownSizeCannotCross() {
    Graphs.Builder g = new Graphs.Builder(0, 2);
    int x = g.input("x");
    int t = g.temporary("t");
    int y = g.output("y");
    g.op(OperationCode.ADD, x, x, t);
    g.op(OperationCode.MUL, t, t, y);
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                plan(
                    g.model(),
                    LimitedDevice.of("0", 0.5, OperationCode.ADD),
                    LimitedDevice.of("1", 0.5, OperationCode.MUL)));
    assertEquals(ResultCode.OP_FAILED, e.code());
    assertEquals(
        "ADD (operation 0): its result 1 't' would leave 0, but its dimensions are not known before"
            + " it runs: ?x2",
        e.getMessage());
  }

  @Test
  void onlyWhatIsBehindAValueOfUnknownSizeGoesToTheReference() throws Exception {
    Graphs.Builder g = new Graphs.Builder(2);
    int x = g.input("x");
    int a = g.temporary("a");
    int b = g.temporary("b");
    int t = g.raw().temporary("t", OperandCode.TENSOR_FLOAT32, Shape.of(0), Quantization.NONE);
    int c = g.temporary("c");
    int y = g.output("y");
    int z = g.output("z");
    g.op(OperationCode.MUL, x, x, a);
    g.op(OperationCode.ADD, a, a, t);
    // Ready only after what the other device computes: it must not part those that share t.
    g.op(OperationCode.MUL, a, x, b);
    g.op(OperationCode.MUL, b, b, c);
    g.op(OperationCode.MUL, t, c, y);
    g.op(OperationCode.MUL, c, c, z);
    PlannedModel plan =
        plan(
            g.model(),
            LimitedDevice.of("0", 0.5, OperationCode.MUL),
            LimitedDevice.of("1", 0.5, OperationCode.ADD),
            LimitedDevice.cpu());
    assertEquals(List.of("0", "cpu"), steps(plan));
    assertEquals(List.of(0, 2, 3, 5), plan.steps().get(0).operations());
    assertEquals(List.of(1, 4), plan.steps().get(1).operations());
  }

  @Test
  void aStepOfConstantsHasNoInputs() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    byte[] bytes = new byte[4];
    int constant =
        g.raw()
            .constant(
                "c",
                OperandCode.TENSOR_FLOAT32,
                Shape.of(1),
                Quantization.NONE,
                new Lifetime.ConstantCopy(bytes));
    int t = g.temporary("t");
    g.op(OperationCode.ADD, constant, constant, t);
    g.op(OperationCode.MUL, t, x, g.output("y"));
    PlannedModel plan =
        plan(g.model(), LimitedDevice.of("adder", 0.5, OperationCode.ADD), LimitedDevice.cpu());
    assertEquals(List.of("adder", "cpu"), steps(plan));
    assertEquals(List.of(), plan.steps().get(0).inputs());
    assertEquals(List.of(t), plan.steps().get(0).outputs());
  }

  @Test
  void aStepWhoseResultsNobodyReadsHasNoOutputs() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    g.op(OperationCode.ADD, x, x, g.temporary("dead"));
    g.op(OperationCode.MUL, x, x, g.output("y"));
    PlannedModel plan =
        plan(g.model(), LimitedDevice.of("adder", 0.5, OperationCode.ADD), LimitedDevice.cpu());
    assertEquals(List.of("cpu", "adder"), steps(plan));
    assertEquals(List.of(), plan.steps().get(1).outputs());
  }
}
