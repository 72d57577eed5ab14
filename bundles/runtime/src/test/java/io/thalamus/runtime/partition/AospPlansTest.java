// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlannedModel;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Those of AOSP's partitioning tests whose plans depend on the very graph that they build. */
class AospPlansTest {
  /** The stand-ins for the operations that AOSP's slices differ by. */
  private static final ModelRules LEVELS =
      (model, graph, operation) ->
          switch ((OperationCode) operation.type()) {
            case SUB -> FeatureLevel.V1_1;
            case MAXIMUM -> FeatureLevel.V1_2;
            case MINIMUM -> FeatureLevel.V1_3;
            default -> FeatureLevel.V1_0;
          };

  private static Device speaking(FeatureLevel level, double cost) {
    return new LimitedDevice(
        LimitedDevice.info("test-" + level, DeviceType.ACCELERATOR, cost)
            .featureLevel(level)
            .build(),
        (graph, operation) -> true);
  }

  private static Device[] speaking(double v10, double v11, double v12, double v13) {
    return new Device[] {
      speaking(FeatureLevel.V1_0, v10),
      speaking(FeatureLevel.V1_1, v11),
      speaking(FeatureLevel.V1_2, v12),
      speaking(FeatureLevel.V1_3, v13),
      LimitedDevice.cpu()
    };
  }

  private static PlannedModel plan(Model model, Device... devices) throws Exception {
    return new Partitioner(new NnapiPolicy(), LEVELS)
        .partition(model, ExecutionPreference.LOW_POWER, NnapiPartitioningTest.devices(devices));
  }

  private static void assertStep(
      ExecutionStep step, List<Integer> operations, List<Integer> inputs, List<Integer> outputs) {
    assertEquals(operations, step.operations());
    assertEquals(inputs, step.inputs());
    assertEquals(outputs, step.outputs());
  }

  @Test
  void aModelIsSlicedByWhatEachVersionCanSay() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    int y = g.input("y");
    int sum = g.output("sum");
    int product = g.temporary("product");
    int difference = g.output("difference");
    int most = g.output("most");
    int least = g.output("least");
    g.op(OperationCode.ADD, x, y, sum);
    g.op(OperationCode.MUL, x, y, product);
    g.op(OperationCode.SUB, x, y, difference);
    g.op(OperationCode.MAXIMUM, sum, product, most);
    g.op(OperationCode.MINIMUM, sum, sum, least);
    assertEquals(
        List.of("V1_3"),
        NnapiPartitioningTest.steps(plan(g.model(), speaking(0.8, 0.7, 0.6, 0.5))));
    PlannedModel cut = plan(g.model(), speaking(0.6, 0.7, 0.8, 0.9));
    assertEquals(List.of("V1_1", "V1_0", "V1_3", "V1_2"), NnapiPartitioningTest.steps(cut));
    assertStep(cut.steps().get(0), List.of(2), List.of(x, y), List.of(difference));
    assertStep(cut.steps().get(1), List.of(0, 1), List.of(x, y), List.of(sum, product));
    assertStep(cut.steps().get(2), List.of(4), List.of(sum), List.of(least));
    // Temporaries come before outputs of the model, though the latter is read first.
    assertStep(cut.steps().get(3), List.of(3), List.of(product, sum), List.of(most));
  }

  @Test
  void anEmptySliceIsAskedForNothing() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    g.op(OperationCode.MINIMUM, x, x, g.output("y"));
    PlannedModel plan = plan(g.model(), speaking(0.6, 0.7, 0.8, 0.9));
    assertTrue(plan.isSimple());
    assertEquals(List.of("V1_3"), NnapiPartitioningTest.steps(plan));
  }

  @Test
  void theCpuIsAStepBetweenTwoOfADevice() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int a = g.input("a");
    int b = g.input("b");
    int c = g.temporary("c");
    int d = g.temporary("d");
    int e = g.output("e");
    int f = g.temporary("f");
    int late = g.input("late");
    int h = g.temporary("h");
    int i = g.output("i");
    g.op(OperationCode.MUL, a, b, c);
    g.op(OperationCode.MUL, a, c, d);
    g.op(OperationCode.ADD, a, d, e);
    g.op(OperationCode.ADD, c, e, f);
    g.op(OperationCode.MUL, d, f, h);
    g.op(OperationCode.MUL, late, h, i);
    PlannedModel plan =
        plan(g.model(), LimitedDevice.of("1", 0.5, OperationCode.MUL), LimitedDevice.cpu());
    assertEquals(List.of("1", "cpu", "1"), NnapiPartitioningTest.steps(plan));
    assertStep(plan.steps().get(0), List.of(0, 1), List.of(a, b), List.of(c, d));
    assertStep(plan.steps().get(1), List.of(2, 3), List.of(a, d, c), List.of(e, f));
    assertStep(plan.steps().get(2), List.of(4, 5), List.of(late, d, f), List.of(i));
  }

  @Test
  void whatTheCpuDoesNotKnowGoesToTheBestDriver() throws Exception {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    g.op(OperationCode.SUB, x, x, g.output("y"));
    Model model = g.model();
    LimitedDevice cpu =
        new LimitedDevice(
            LimitedDevice.info("thalamus-cpu", DeviceType.CPU, 1).build(),
            (graph, operation) -> operation.type() != OperationCode.SUB);
    LimitedDevice none = LimitedDevice.of("none", 0.5, OperationCode.ADD);
    assertEquals(
        List.of("good"),
        NnapiPartitioningTest.steps(
            plan(model, LimitedDevice.all("bad", 1.5), none, LimitedDevice.all("good", 1.2), cpu)));
    for (Device[] devices : new Device[][] {{none, cpu}, {cpu}}) {
      NeuralNetworksException e =
          assertThrows(NeuralNetworksException.class, () -> plan(model, devices));
      assertEquals(ResultCode.BAD_DATA, e.code());
    }
    FaultyDevice indecisive =
        new FaultyDevice(LimitedDevice.all("indecisive", 0.5))
            .onPrepare(
                given -> {
                  throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "not after all");
                });
    try (TestRuntime runtime = TestRuntime.lenient(indecisive, cpu)) {
      assertThrows(
          NeuralNetworksException.class,
          () -> runtime.networks().compile(model, CompilationOptions.DEFAULT).close());
    }
  }

  private static Subgraph both(OperationCode type, int size) {
    Graphs.Builder g = new Graphs.Builder(size);
    int a = g.input("a");
    int b = g.input("b");
    g.op(type, a, b, g.output("r"));
    return g.build();
  }

  private static Subgraph equal(int size) {
    Graphs.Builder g = new Graphs.Builder(size);
    List<Integer> inputs = List.of(g.input("a"), g.input("b"));
    int r = g.raw().output("r", OperandCode.TENSOR_BOOL8, Shape.of(1), Quantization.NONE);
    g.raw().operation(OperationCode.EQUAL, inputs, List.of(r));
    return g.build();
  }

  private static Model branch(int outer, int then, int otherwise) {
    Graphs.Builder g = new Graphs.Builder(outer);
    int c = g.boolInput("c");
    List<Integer> inputs = List.of(c, g.reference(0), g.reference(1), g.input("a"), g.input("b"));
    g.raw().operation(OperationCode.IF, inputs, List.of(g.output("r")));
    Subgraph first = both(OperationCode.ADD, then);
    return new Model(g.build(), List.of(first, both(OperationCode.ADD, otherwise)), false);
  }

  private static Model loop(int outer, int condition, int body) {
    Graphs.Builder g = new Graphs.Builder(outer);
    List<Integer> inputs = List.of(g.reference(0), g.reference(1), g.input("a"), g.input("b"));
    g.raw().operation(OperationCode.WHILE, inputs, List.of(g.output("r")));
    return new Model(g.build(), List.of(equal(condition), both(OperationCode.ADD, body)), false);
  }

  private static List<String> steps(Model model, Device device) throws Exception {
    try (TestRuntime runtime = TestRuntime.lenient(device, LimitedDevice.cpu())) {
      return runtime.networks().plan(model, CompilationOptions.DEFAULT).steps().stream()
          .map(Plan.Step::device)
          .toList();
    }
  }

  @Test
  void controlFlowGoesToTheCpuWhereverASizeIsUnknown() throws Exception {
    Device all =
        new LimitedDevice(
            LimitedDevice.info("test-all", DeviceType.ACCELERATOR, 0.9).build(),
            (graph, operation) -> true);
    Device plain = LimitedDevice.of("plain", 0.9, OperationCode.ADD);
    for (int sizes = 0; sizes < 8; sizes++) {
      int[] size = {sizes & 1, sizes >> 1 & 1, sizes >> 2};
      String message = "sizes " + size[0] + ", " + size[1] + ", " + size[2];
      List<String> expected = List.of(sizes == 7 ? "all" : "cpu");
      Model branch = branch(size[0], size[1], size[2]);
      Model loop = loop(size[0], size[1], size[2]);
      assertEquals(expected, steps(branch, all), message);
      assertEquals(expected, steps(loop, all), message);
      boolean isKnown = sizes == 7;
      assertEquals(
          isKnown ? List.of("interpreter", "plain", "plain") : expected,
          steps(branch, plain),
          message);
      assertEquals(
          isKnown ? List.of("interpreter", "cpu", "plain") : expected, steps(loop, plain), message);
    }
  }
}
