// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.npu.command.CommandFormatException;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.ExecutableFormat;
import io.thalamus.npu.command.Opcode.Engine;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.machine.Machine;
import io.thalamus.npu.machine.MachineFault;
import io.thalamus.npu.machine.Schedule;
import io.thalamus.npu.machine.Timeline;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.npu.timing.PowerBudget;
import io.thalamus.npu.timing.PowerModel;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/**
 * One stage of a compiled model, loaded. The cost of an execution on the hardware does not depend
 * on its inputs, and is known when it is loaded. Immutable and thread-safe.
 *
 * @param machine that interprets it
 * @param architecture of the hardware
 * @param point that the model runs at
 * @param cycles of one execution
 * @param joules of one execution
 * @param schedule of one execution that nothing stops
 */
record Program(
    Machine machine,
    Architecture architecture,
    OperatingPoint point,
    long cycles,
    double joules,
    Schedule schedule) {
  /** Loads the file of a compiled model. */
  static Program load(
      byte[] file, Architecture architecture, PowerModel power, OperatingPoint point)
      throws DeviceException {
    try {
      Executable executable = ExecutableFormat.read(file);
      Machine machine = Machine.load(executable, architecture);
      Timeline timeline = Timeline.of(executable, architecture, point);
      long cycles = timeline.cycles();
      return new Program(
          machine,
          architecture,
          point,
          cycles,
          power.joules(timeline.work(), cycles, point),
          Schedule.of(executable, architecture, point));
    } catch (CommandFormatException | MachineFault e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, e.getMessage(), e);
    }
  }

  /** The time of one execution at the operating point. */
  Duration onDevice() {
    return Duration.ofNanos(point.nanos(cycles));
  }

  /** Returns the cost of executions at a rate, for a time. */
  PowerBudget budget(PowerModel power, double rate, Duration time, boolean isBurst) {
    long nanos = onDevice().toNanos();
    double switched = joules - power.idleJoules(nanos, point);
    return PowerBudget.of(power, point, nanos, switched, rate, time.toNanos(), isBurst);
  }

  /** Returns the cost of one execution. */
  NpuReport report() {
    Executable executable = machine.executable();
    Timeline timeline = Timeline.of(executable, architecture, point);
    Map<Engine, Long> busy = new EnumMap<>(Engine.class);
    for (Engine engine : Engine.values()) {
      busy.put(engine, timeline.busy(engine));
    }
    return new NpuReport(
        point.name(),
        cycles,
        point.nanos(cycles),
        joules,
        executable.commands().size(),
        executable.weights().length,
        executable.memories().tensors(),
        timeline.work().intMacs() + timeline.work().floatMacs(),
        busy);
  }

  /** Returns the times of each command, one a line. */
  String trace() {
    return Timeline.trace(machine.executable(), architecture, point);
  }
}
