// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.TableDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.compile.Compilation;
import io.thalamus.npu.compile.Compiler;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import java.util.Map;

/**
 * A simulated accelerator for 8-bit and float16 networks. What it computes is real, the times that
 * it tells are those of the hardware that its settings describe. Owns one thread, which runs the
 * second stage of compilations and ends when the device is closed; executions that are under way
 * then end with a failure at the next operation.
 */
public final class NpuDevice extends TableDevice implements AutoCloseable {
  private final NpuConfig config;
  private final Compiler compiler;
  private final SecondStage secondStage = new SecondStage();

  /** A device of its own; {@link NpuComponent} is the one that a framework has. */
  public NpuDevice(String version, NpuConfig config) {
    this(version, config, new Compiler(config.architecture(), OperationCatalog.standard()));
  }

  private NpuDevice(String version, NpuConfig config, Compiler compiler) {
    super(
        facts(version),
        compiler.table(),
        OperationCatalog.standard(),
        new BufferDram(config.bufferBytes()));
    this.config = config;
    this.compiler = compiler;
  }

  private static DeviceInfo facts(String version) {
    PerformanceInfo stored = new PerformanceInfo(0.1f, 0.02f);
    PerformanceInfo half = new PerformanceInfo(0.4f, 0.1f);
    return DeviceInfo.builder("thalamus-npu", version)
        .type(DeviceType.ACCELERATOR)
        .capabilities(
            new Capabilities(
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED,
                Map.of(
                    OperandCode.TENSOR_QUANT8_ASYMM,
                    stored,
                    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
                    stored,
                    OperandCode.TENSOR_FLOAT16,
                    half),
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED))
        .memoryDomain(true)
        .exactQuantized(true)
        .build();
  }

  @Override
  protected PreparedModel compile(Model model, PrepareConfig prepare)
      throws ValidationException, DeviceException {
    if (secondStage.isClosed()) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the device has been stopped");
    }
    OperatingPoint point = config.points().choose(prepare.preference());
    Compilation compilation = compiler.compile(model.main());
    boolean waits = config.searchFirst() && config.searchBudget() > 0;
    Executable executable =
        waits
            ? compilation.searched(
                point, config.searchBudget(), config.seed(), secondStage::isClosed)
            : compilation.quick();
    NpuPreparedModel prepared =
        new NpuPreparedModel(
            model,
            this,
            compilation.outputShapes(),
            load(executable, point),
            config.link(),
            secondStage::isClosed);
    if (!waits && config.searchBudget() > 0) {
      secondStage.submit(
          prepared,
          isStopped ->
              load(
                  compilation.searched(point, config.searchBudget(), config.seed(), isStopped),
                  point));
    }
    return prepared;
  }

  private Program load(Executable executable, OperatingPoint point) throws DeviceException {
    return Program.load(executable, config.architecture(), config.power(), point);
  }

  /** Loses what buffers hold, as DRAM does without power. */
  void loseMemory() {
    buffers().loseContents();
  }

  /** Refuses further work, ends the thread, then the buffers. */
  @Override
  public void close() {
    secondStage.close();
    buffers().close();
  }
}
