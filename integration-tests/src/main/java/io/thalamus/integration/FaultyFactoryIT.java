// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.Plan;
import io.thalamus.api.Tensor;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelDevice;
import io.thalamus.driver.KernelTable;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ResolvedOperation;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;

/** A driver whose factory of kernels throws: who looks for the cause finds it. */
public class FaultyFactoryIT {
  private static final String MISTAKE = "no tile has a side of 3";
  private static final String CAUSE =
      "operation 0 ADD: its kernel's factory threw java.lang.IllegalStateException: " + MISTAKE;

  private final BundleContext context =
      FrameworkUtil.getBundle(FaultyFactoryIT.class).getBundleContext();
  private final Commands commands = new Commands(context);
  private final Messages messages = new Messages();
  // Kept here, since the log manager does not.
  private final Logger logger = Logger.getLogger("io.thalamus.runtime");
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;

  /** The lines of the log. */
  private static final class Messages extends Handler {
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();

    @Override
    public void publish(LogRecord log) {
      lines.add(new SimpleFormatter().formatMessage(log));
    }

    @Override
    public void flush() {
      // Nothing is held back.
    }

    @Override
    public void close() {
      // Nothing is open.
    }
  }

  @BeforeEach
  void open() {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
    logger.addHandler(messages);
  }

  @AfterEach
  void close() {
    logger.removeHandler(messages);
    commands.close();
    context.ungetService(reference);
  }

  private static Kernel compile(ResolvedOperation operation) {
    throw new IllegalStateException(MISTAKE);
  }

  /** A device that is the fastest by its facts, so that each ADD is given to it. */
  private static Device faulty() {
    PerformanceInfo fastest = PerformanceInfo.of(0.01f);
    DeviceInfo facts =
        DeviceInfo.builder("test-faulty", "1")
            .type(DeviceType.ACCELERATOR)
            .capabilities(
                new Capabilities(
                    fastest,
                    fastest,
                    Map.of(OperandCode.TENSOR_FLOAT32, fastest),
                    fastest,
                    fastest))
            .build();
    KernelTable kernels =
        KernelTable.builder()
            .add(OperationCode.ADD, FaultyFactoryIT::compile, OperandCode.TENSOR_FLOAT32)
            .build();
    return new KernelDevice(facts, kernels, OperationCatalog.standard()) {};
  }

  private static Model twice() {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(3);
    int x = graph.input("x", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, x, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  @Test
  void logAndListOfDevicesNameDeviceOperationAndCause() throws Exception {
    ServiceRegistration<Device> driver =
        context.registerService(
            Device.class, faulty(), new Hashtable<>(Map.of(DeviceDriver.NAMESPACE, "faulty")));
    try (Compilation compilation = networks.compile(twice(), CompilationOptions.DEFAULT)) {
      assertFalse(
          compilation.plan().steps().stream().map(Plan.Step::device).toList().contains("faulty"));
      Tensor x = Tensor.of(compilation.model().main().input(0), 1, -2, 0.5f);
      assertArrayEquals(new float[] {2, -4, 1}, compilation.run(x).output().toFloats());
      assertEquals(
          1,
          messages.lines.stream()
              .filter(line -> line.contains("device faulty ") && line.contains(CAUSE))
              .count(),
          messages.lines::toString);
      String shown = commands.text("nn:devices -v").replaceAll("\\s+", " ");
      assertTrue(shown.contains(CAUSE), shown);
    } finally {
      driver.unregister();
    }
  }
}
