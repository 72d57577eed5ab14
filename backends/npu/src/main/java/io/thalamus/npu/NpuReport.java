// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.npu.command.Opcode.Engine;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * The cost of one execution of a compiled model on the simulated hardware. Immutable.
 *
 * @param point the operating point's name
 * @param cycles from the first command to the end of the last
 * @param nanos that they take
 * @param joules that they cost
 * @param commands in the stream
 * @param weightBytes of DRAM for packed weights and tables
 * @param tensorBytes of DRAM for tensors
 * @param macs multiplications with their additions
 * @param busy by engine, the cycles in which it works
 */
public record NpuReport(
    String point,
    long cycles,
    long nanos,
    double joules,
    int commands,
    int weightBytes,
    int tensorBytes,
    long macs,
    Map<Engine, Long> busy) {
  public NpuReport {
    busy = Collections.unmodifiableMap(new EnumMap<>(busy));
  }
}
