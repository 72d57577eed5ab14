// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.BurstSource;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.driver.TableDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.Machine;
import io.thalamus.x86.compile.Convolution;
import io.thalamus.x86.compile.Elementwise;
import io.thalamus.x86.compile.GraphCompiler;
import io.thalamus.x86.compile.Lowering;
import io.thalamus.x86.compile.Program;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * A device that writes its own machine code, for float networks on x86-64. It computes in the
 * thread of its caller and owns no other. {@link X86Start} has it registered where the machine
 * allows it.
 */
@Component(service = Device.class, name = X86Device.COMPONENT, enabled = false)
@DeviceDriver(device = "x86", type = "CPU")
public final class X86Device extends TableDevice implements AutoCloseable {
  static final String COMPONENT = "io.thalamus.x86";

  private final OperationTable<Lowering> table;
  private final Machine machine;
  private volatile boolean isClosed;

  /** Called by the component runtime. */
  @Activate
  public X86Device(BundleContext context) {
    this(context.getBundle().getVersion().toString(), Machine.probe(), BurstSource.of(context));
  }

  /** A device for use without a framework, which leaves bursts to others. */
  public X86Device(String version) {
    this(version, Machine.probe(), BurstSource.NONE);
  }

  /**
   * A device for use without a framework.
   *
   * @param machine what it may use; where that cannot run it, nothing can be prepared
   */
  public X86Device(String version, Machine machine, BurstSource bursts) {
    this(version, machine, bursts, kernels());
  }

  private X86Device(
      String version, Machine machine, BurstSource bursts, OperationTable<Lowering> table) {
    super(facts(version), table, OperationCatalog.standard(), bursts);
    this.machine = machine;
    this.table = table;
  }

  private static DeviceInfo facts(String version) {
    PerformanceInfo fast = PerformanceInfo.of(0.3f);
    return DeviceInfo.builder("thalamus-x86", version)
        .type(DeviceType.CPU)
        .capabilities(
            new Capabilities(
                PerformanceInfo.UNSUPPORTED,
                fast,
                Map.of(OperandCode.TENSOR_FLOAT32, fast),
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED))
        .memoryDomain(true)
        .build();
  }

  private static OperationTable<Lowering> kernels() {
    OperationTable.Builder<Lowering> table = OperationTable.builder();
    Elementwise.register(table);
    Convolution.register(table);
    return table.build();
  }

  @Override
  protected PreparedModel compile(Model model, PrepareConfig config)
      throws ValidationException, DeviceException {
    if (isClosed) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the device has been stopped");
    }
    Length length =
        machine
            .longest()
            .orElseThrow(() -> new DeviceException(ErrorStatus.GENERAL_FAILURE, machine.reason()));
    Program program = compile(StaticGraph.resolve(model.main(), catalog()), length, config);
    checkRoom(program.memory() + program.constants().length);
    ExecutableMemory code =
        ExecutableMemory.of(program.code())
            .orElseThrow(
                () ->
                    new DeviceException(
                        ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
                        "this system refuses memory for code"));
    return new X86PreparedModel(model, program, code, this);
  }

  /** Compiles a graph of supported operations. */
  Program compile(StaticGraph graph, Length length, PrepareConfig config)
      throws ValidationException, DeviceException {
    return GraphCompiler.compile(graph, table, catalog(), length, config);
  }

  boolean isClosed() {
    return isClosed;
  }

  /** Refuses further work; runs that are under way end at their next call of a function. */
  @Override
  @Deactivate
  public void close() {
    isClosed = true;
    buffers().close();
  }
}
