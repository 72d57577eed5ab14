// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.HostLink;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.npu.timing.OperatingPoints;
import io.thalamus.npu.timing.PowerModel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

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
  /** Returns the settings when nothing is configured. */
  public static NpuConfig standard() {
    @NpuSettings
    class Standard {}
    return of(Standard.class.getAnnotation(NpuSettings.class));
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
    PowerModel power = new PowerModel(architecture.scratchpad(), settings.leakageWatts());
    return new NpuConfig(
        architecture,
        power,
        new OperatingPoints(architecture.array(), power, settings.thermalWatts()),
        settings.searchBudget(),
        settings.searchFirst(),
        settings.seed(),
        settings.bufferBytes(),
        new HostLink(settings.hostBytesPerSecond(), settings.hostLatencyNanos()));
  }

  /**
   * All that a compiled model depends on, besides the model and the execution preference, as text.
   */
  String fingerprint() {
    // Not by the records' own texts, whose methods a process makes as it begins.
    ArrayTiming array = architecture.array();
    List<Object> facts = new ArrayList<>();
    Collections.addAll(facts, array.rows(), array.columns(), array.dataflow());
    Collections.addAll(facts, architecture.lanes(), architecture.scratchpad());
    Collections.addAll(facts, architecture.accumulators(), architecture.dram());
    Collections.addAll(facts, architecture.bytesPerSecond(), architecture.latencySeconds());
    for (ExecutionPreference preference : ExecutionPreference.values()) {
      OperatingPoint point = points.choose(preference);
      Collections.addAll(facts, preference, point.name(), point.volts(), point.hertz());
      // Joules are reported of a restored model as of any other.
      facts.add(power.staticWatts(point));
    }
    Collections.addAll(facts, searchBudget, searchFirst, seed);
    return facts.toString();
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
