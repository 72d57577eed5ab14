// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static io.thalamus.operations.Argument.argument;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.NamedDefinition;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A device of kernels for an operation and an operand type of an extension. */
class ExtensionDeviceTest {
  private static final String NAME = "com.example.signal";

  /** Two floats: the real and the imaginary part. */
  private static final ExtensionOperandType COMPLEX =
      new ExtensionOperandType(NAME, 1, "TENSOR_COMPLEX", true, 8);

  private static final ExtensionOperationType SQUARE =
      new ExtensionOperationType(NAME, 0, "SQUARE");
  private static final ExtensionOperationType MAGNITUDE =
      new ExtensionOperationType(NAME, 7, "MAGNITUDE");

  private static final class Complex extends NamedDefinition {
    Complex(ExtensionOperationType type) {
      super(
          type,
          Signature.since(FeatureLevel.V1_2)
              .inputs(argument("input", COMPLEX))
              .outputs(
                  argument("output", type.equals(SQUARE) ? COMPLEX : OperandCode.TENSOR_FLOAT32)));
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }

  private static final class ComplexDevice extends KernelDevice {
    ComplexDevice(Set<String> extensions) {
      this(extensions, addTo(KernelTable.builder()).build());
    }

    private ComplexDevice(Set<String> extensions, KernelTable kernels) {
      super(
          facts(extensions),
          kernels,
          OperationCatalog.standard().with(List.of(new Complex(SQUARE), new Complex(MAGNITUDE))));
    }

    /** A device whose kernels are added when one is looked for. */
    static ComplexDevice filledLate(Set<String> extensions) {
      return new ComplexDevice(
          extensions,
          KernelTable.of(
              (number, table) -> {
                if (number == 0) {
                  addTo(table);
                }
                return number == 0;
              }));
    }

    private static KernelTable.Builder addTo(KernelTable.Builder table) {
      return table
          .add(SQUARE, operation -> (in, out, scratch, work) -> square(in[0], out[0]), COMPLEX)
          .add(MAGNITUDE, operation -> (in, out, scratch, work) -> measure(in[0], out[0]), COMPLEX);
    }

    private static DeviceInfo facts(Set<String> extensions) {
      PerformanceInfo one = PerformanceInfo.of(1);
      return DeviceInfo.builder("test-complex", "1")
          .capabilities(new Capabilities(one, one, Map.of(COMPLEX, one), one, one))
          .extensions(extensions)
          .memoryDomain(true)
          .build();
    }

    private static float get(MemorySegment segment, long index) {
      return segment.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
    }

    private static void square(MemorySegment in, MemorySegment out) {
      for (long i = 0; i < in.byteSize() / 4; i += 2) {
        float re = get(in, i);
        float im = get(in, i + 1);
        out.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, re * re - im * im);
        out.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i + 1, 2 * re * im);
      }
    }

    private static void measure(MemorySegment in, MemorySegment out) {
      for (long i = 0; i < out.byteSize() / 4; i++) {
        out.setAtIndex(
            ValueLayout.JAVA_FLOAT_UNALIGNED,
            i,
            (float) Math.hypot(get(in, 2 * i), get(in, 2 * i + 1)));
      }
    }
  }

  /** The magnitude of the square. */
  private static Model model() {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(2);
    int x = graph.input("x", COMPLEX, shape, Quantization.NONE);
    int s = graph.temporary("s", COMPLEX, shape, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, Shape.of(0), Quantization.NONE);
    graph.operation(SQUARE, List.of(x), List.of(s));
    graph.operation(MAGNITUDE, List.of(s), List.of(y));
    return Model.of(graph.build());
  }

  @Test
  void itComputesOnItsOwnType() throws Exception {
    ComplexDevice device = new ComplexDevice(Set.of(NAME));
    assertEquals(2, device.supportedOperations(model()).cardinality());
    try (PreparedModel prepared = device.prepare(model(), PrepareConfig.DEFAULT);
        Floats arguments = new Floats().input(Shape.NONE, 3, 4, 0, -2).output(2)) {
      ExecutionResult result = prepared.execute(arguments.request(), ExecutionConfig.DEFAULT);
      Completed completed = assertInstanceOf(Completed.class, result, result.toString());
      assertEquals(Shape.of(2), completed.outputs().get(0).shape());
      assertArrayEquals(new float[] {25, 4}, arguments.result(0));
    }
  }

  /** Only the device knows what such a value is: AOSP's sample driver refuses it as well. */
  @Test
  void buffersDoNotHoldValuesOfItsType() throws Exception {
    ComplexDevice device = new ComplexDevice(Set.of(NAME));
    try (PreparedModel prepared = device.prepare(model(), PrepareConfig.DEFAULT)) {
      BufferRole role = new BufferRole(prepared, BufferRole.Direction.INPUT, 0, 1);
      DeviceException refused =
          assertThrows(
              DeviceException.class,
              () -> device.allocate(new BufferDesc(Shape.NONE), List.of(role)));
      assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status());
      assertTrue(refused.getMessage().contains(COMPLEX.text()), refused.getMessage());
    }
  }

  private static int supported(ComplexDevice device) throws DeviceException {
    return device.supportedOperations(model()).cardinality();
  }

  @Test
  void aDeviceMustNameTheExtensionsThatItHasKernelsFor() throws Exception {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> new ComplexDevice(Set.of()));
    assertTrue(e.getMessage().contains("does not name its extension"), e.getMessage());
    ComplexDevice late = ComplexDevice.filledLate(Set.of());
    e = assertThrows(IllegalArgumentException.class, () -> late.supportedOperations(model()));
    assertTrue(e.getMessage().contains("does not name its extension"), e.getMessage());
    assertEquals(2, supported(ComplexDevice.filledLate(Set.of(NAME))));
  }
}
