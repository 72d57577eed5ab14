// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
import io.thalamus.npu.timing.HostLink;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.npu.timing.OperatingPoints;
import io.thalamus.npu.timing.PowerModel;

/**
 * The settings of a device, as what they build. Immutable.
 *
 * @param architecture the hardware
 * @param power what it draws
 * @param points its voltages and clocks
 * @param searchBudget tilings that the second stage tries for each operation
 * @param searchFirst whether preparing waits for the second stage
 * @param seed of the search
 * @param bufferBytes of DRAM for buffers
 * @param link to the host's memory
 */
public record NpuConfig(
    Architecture architecture,
    PowerModel power,
    OperatingPoints points,
    int searchBudget,
    boolean searchFirst,
    long seed,
    int bufferBytes,
    HostLink link) {
  /** The settings when nothing is configured. */
  public static final NpuConfig DEFAULT =
      of(
          new Architecture(
              new ArrayTiming(16, 16, Dataflow.WEIGHT_STATIONARY),
              32,
              256 << 10,
              16 << 10,
              64 << 20,
              6.4e9,
              20e-9),
          0.01,
          0.1);

  private static NpuConfig of(Architecture architecture, double leakage, double thermal) {
    PowerModel power = new PowerModel(architecture.scratchpad(), leakage);
    return new NpuConfig(
        architecture,
        power,
        new OperatingPoints(architecture.array(), power, thermal),
        512,
        false,
        1,
        16 << 20,
        new HostLink(985e6, 1000));
  }

  static NpuConfig of(NpuSettings settings) {
    Architecture architecture =
        new Architecture(
            new ArrayTiming(settings.rows(), settings.columns(), settings.dataflow()),
            settings.lanes(),
            settings.scratchpadBytes(),
            settings.accumulators(),
            settings.dramBytes(),
            settings.bytesPerSecond(),
            settings.latencyNanos() * 1e-9);
    return of(architecture, settings.leakageWatts(), settings.thermalWatts())
        .withSearch(settings.searchBudget(), settings.searchFirst(), settings.seed())
        .withBuffers(
            settings.bufferBytes(),
            new HostLink(settings.hostBytesPerSecond(), settings.hostLatencyNanos()));
  }

  /**
   * All that a compiled model depends on, besides the model and the execution preference, as text.
   */
  String fingerprint() {
    StringBuilder text = new StringBuilder();
    text.append(architecture).append(' ');
    for (ExecutionPreference preference : ExecutionPreference.values()) {
      OperatingPoint point = points.choose(preference);
      text.append(preference).append(' ').append(point).append(' ');
      // Joules are told of a restored model as of any other.
      text.append(power.staticWatts(point)).append(" W ");
    }
    return text.append(searchBudget).append(' ').append(searchFirst).append(' ').append(seed) + "";
  }

  /** Returns these settings with another search. */
  public NpuConfig withSearch(int budget, boolean first, long newSeed) {
    return new NpuConfig(architecture, power, points, budget, first, newSeed, bufferBytes, link);
  }

  /** Returns these settings with other room for buffers and another link to the host. */
  public NpuConfig withBuffers(int bytes, HostLink newLink) {
    return new NpuConfig(
        architecture, power, points, searchBudget, searchFirst, seed, bytes, newLink);
  }

  /** Returns these settings with other hardware. */
  public NpuConfig with(Architecture changed) {
    return new NpuConfig(
        changed, power, points, searchBudget, searchFirst, seed, bufferBytes, link);
  }
}
