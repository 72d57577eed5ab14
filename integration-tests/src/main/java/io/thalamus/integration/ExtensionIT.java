// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.integration.extension.ComplexActivator;
import io.thalamus.integration.extension.ComplexExtension;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** A bundle brings an operation and an operand type that NNAPI does not know. */
public class ExtensionIT {
  private static final String IMPORTS =
      Stream.of("hal", "model", "memory", "operations", "driver")
          .map(name -> "io.thalamus." + name + ";version=\"[1.0,2)\"")
          .collect(Collectors.joining(",", "", ",org.osgi.framework"));

  private final BundleContext context =
      FrameworkUtil.getBundle(ExtensionIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;

  @BeforeEach
  void open() {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
  }

  @AfterEach
  void close() {
    context.ungetService(reference);
  }

  private Bundle install() throws Exception {
    return bundles.install(
        "test:complex:" + System.nanoTime(),
        BundleFile.of(
            "io/thalamus/integration/extension",
            Map.of(
                Constants.BUNDLE_SYMBOLICNAME,
                "io.thalamus.integration.complex",
                Constants.BUNDLE_ACTIVATOR,
                ComplexActivator.class.getName(),
                Constants.IMPORT_PACKAGE,
                IMPORTS)));
  }

  /** FLOOR of the magnitude of an input of this type. */
  private static Model model(OperandType type) {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(3);
    int x = graph.input("x", type, shape, Quantization.NONE);
    int m = graph.temporary("m", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(ComplexExtension.MAGNITUDE, List.of(x), List.of(m));
    graph.operation(OperationCode.FLOOR, List.of(m), List.of(y));
    return Model.of(graph.build());
  }

  private String refusal(OperandType type) {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () -> networks.compile(model(type), CompilationOptions.DEFAULT));
    assertEquals(ResultCode.BAD_DATA, e.code());
    return e.getMessage();
  }

  @Test
  void aModelOfTheExtensionRunsWhileItsBundleIsHere() throws Exception {
    String missing = refusal(ComplexExtension.COMPLEX);
    assertTrue(missing.contains("the extension " + ComplexExtension.NAME), missing);
    Bundle complex = install();
    try {
      try (Compilation compilation =
          networks.compile(model(ComplexExtension.COMPLEX), CompilationOptions.DEFAULT)) {
        assertEquals(
            "complex",
            compilation.plan().steps().stream().map(Plan.Step::device).findFirst().get());
        MemorySegment input = MemorySegment.ofArray(new float[] {3, 4, 0, -2.5f, 1, 1});
        Tensor x = Tensor.of(compilation.model().main().input(0), input);
        assertArrayEquals(new float[] {5, 2, 1}, compilation.run(x).output().toFloats());
      }
      // Its definitions count: the operation does not take what it is not defined for.
      String wrong = refusal(OperandCode.TENSOR_INT32);
      assertTrue(wrong.contains("input 0 is TENSOR_INT32"), wrong);
    } finally {
      bundles.uninstall(complex);
    }
    assertEquals(missing, refusal(ComplexExtension.COMPLEX));
    assertEquals(List.of(), bundles.leftLoaders());
  }
}
