// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static io.thalamus.operations.Argument.argument;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.Device;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.NamedDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationExtension;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Models with operations and operand types that NNAPI does not know. */
class ExtensionTest {
  private static final String NAME = "com.example.signal";
  private static final ExtensionOperandType COMPLEX =
      new ExtensionOperandType(NAME, 1, "TENSOR_COMPLEX", true, 8);
  private static final ExtensionOperationType MAGNITUDE =
      new ExtensionOperationType(NAME, 7, "MAGNITUDE");

  /** Floats from complex numbers. */
  private static final class Signal implements OperationExtension {
    @Override
    public String name() {
      return NAME;
    }

    @Override
    public List<OperationDefinition> definitions() {
      return List.of(new Magnitude());
    }

    @Override
    public List<ExtensionOperandType> operandTypes() {
      return List.of(COMPLEX);
    }
  }

  private static final class Magnitude extends NamedDefinition {
    Magnitude() {
      super(
          MAGNITUDE,
          Signature.since(FeatureLevel.V1_2)
              .inputs(argument("input", COMPLEX))
              .outputs(argument("output", OperandCode.TENSOR_FLOAT32)));
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }

  /** FLOOR of the magnitude of an input of this type. */
  private static Model model(OperandType type) {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(3);
    int x = graph.input("x", type, shape, Quantization.NONE);
    int m = graph.temporary("m", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(MAGNITUDE, List.of(x), List.of(m));
    graph.operation(OperationCode.FLOOR, List.of(m), List.of(y));
    return Model.of(graph.build());
  }

  private static Device device(String... extensions) {
    return new LimitedDevice(
        LimitedDevice.info("test-radio", DeviceType.ACCELERATOR, 2)
            .extensions(Set.of(extensions))
            .build(),
        (graph, operation) -> operation.type().equals(MAGNITUDE));
  }

  private static String refusal(TestRuntime runtime, Model model) {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () -> runtime.networks().plan(model, CompilationOptions.DEFAULT));
    assertEquals(ResultCode.BAD_DATA, e.code());
    return e.getMessage();
  }

  private static List<String> devices(TestRuntime runtime) throws NeuralNetworksException {
    return runtime.networks().plan(model(COMPLEX), CompilationOptions.DEFAULT).steps().stream()
        .map(Plan.Step::device)
        .toList();
  }

  @Test
  void whereNoDeviceKnowsTheExtensionTheRefusalNamesIt() throws Exception {
    try (TestRuntime runtime = TestRuntime.of(LimitedDevice.cpu())) {
      String reason = refusal(runtime, model(COMPLEX));
      assertTrue(reason.contains("no device here knows the extension " + NAME), reason);
      assertTrue(reason.contains("MAGNITUDE (operation 0)"), reason);
      assertEquals(
          "{1}", runtime.networks().supportedOperations(model(COMPLEX), List.of()).toString());
    }
  }

  @Test
  void aDeviceThatDoesNotNameTheExtensionIsNotBelieved() throws Exception {
    Device silent = device("com.example.other");
    try (TestRuntime runtime = TestRuntime.of(silent, LimitedDevice.cpu())) {
      String reason = refusal(runtime, model(COMPLEX));
      assertTrue(reason.contains("no device here knows the extension " + NAME), reason);
      runtime.remove(silent);
      runtime.add(device(NAME));
      assertEquals(List.of("radio", "cpu"), devices(runtime));
    }
  }

  @Test
  void aDeviceThatKnowsItButNotTheOperationSaysSo() throws Exception {
    ExtensionOperationType unknown = new ExtensionOperationType(NAME, 8, "PHASE");
    SubgraphBuilder graph = new SubgraphBuilder();
    int x = graph.input("x", COMPLEX, Shape.of(3), Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, Shape.of(3), Quantization.NONE);
    graph.operation(unknown, List.of(x), List.of(y));
    try (TestRuntime runtime = TestRuntime.of(device(NAME), LimitedDevice.cpu())) {
      String reason = refusal(runtime, Model.of(graph.build()));
      assertTrue(reason.contains("is supported by no device"), reason);
      assertTrue(reason.contains("cpu: it does not know the extension " + NAME), reason);
    }
  }

  @Test
  void theDefinitionsCountAsLongAsTheyAreHere() throws Exception {
    NnapiRules rules = new NnapiRules();
    Signal signal = new Signal();
    Model wrong = model(OperandCode.TENSOR_INT32);
    try (TestRuntime runtime = TestRuntime.of(rules, device(NAME), LimitedDevice.cpu())) {
      runtime.networks().plan(wrong, CompilationOptions.DEFAULT);
      rules.addExtension(signal);
      String reason = refusal(runtime, wrong);
      assertTrue(reason.contains("input 0 is TENSOR_INT32"), reason);
      assertEquals(List.of("radio", "cpu"), devices(runtime));
      rules.removeExtension(signal);
      runtime.networks().plan(wrong, CompilationOptions.DEFAULT);
    }
  }

  @Test
  void anOperandTypeIsWhatItsExtensionSays() throws Exception {
    NnapiRules rules = new NnapiRules();
    rules.addExtension(new Signal());
    try (TestRuntime runtime = TestRuntime.of(rules, device(NAME), LimitedDevice.cpu())) {
      String reason =
          refusal(runtime, model(new ExtensionOperandType(NAME, 1, "TENSOR_COMPLEX", true, 16)));
      assertTrue(reason.contains("tensor of 8 bytes, not a tensor of 16"), reason);
    }
  }

  @Test
  void anExtensionThatComesTwiceIsReplacedWhenTheFirstGoes() throws Exception {
    NnapiRules rules = new NnapiRules();
    Signal first = new Signal();
    rules.addExtension(first);
    rules.addExtension(new Signal());
    rules.removeExtension(first);
    try (TestRuntime runtime = TestRuntime.of(rules, device(NAME), LimitedDevice.cpu())) {
      assertTrue(refusal(runtime, model(OperandCode.TENSOR_INT32)).contains("input 0"));
    }
  }

  @Test
  void extensionsNeedADeviceOfAtLeast12() throws Exception {
    Device old =
        new LimitedDevice(
            LimitedDevice.info("test-old", DeviceType.ACCELERATOR, 2)
                .featureLevel(FeatureLevel.V1_1)
                .extensions(Set.of(NAME))
                .build(),
            (graph, operation) -> true);
    try (TestRuntime runtime = TestRuntime.of(old)) {
      assertTrue(refusal(runtime, model(COMPLEX)).contains("the operation needs V1_2"));
    }
  }
}
