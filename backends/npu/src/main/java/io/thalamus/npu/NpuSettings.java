// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.npu.timing.Dataflow;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The settings of the device. A change makes it leave and come back. */
@ObjectClassDefinition(name = "Thalamus simulated NPU")
@interface NpuSettings {
  /** Rows of the systolic array. */
  @AttributeDefinition(
      name = "Rows",
      description = "Rows of the systolic array: inputs that one cycle multiplies",
      min = "1",
      max = "256")
  int rows() default 16;

  /** Columns of the systolic array. */
  @AttributeDefinition(
      name = "Columns",
      description = "Columns of the systolic array: output channels that one cycle adds to",
      min = "1",
      max = "256")
  int columns() default 16;

  /** The operand that stays in the array. */
  @AttributeDefinition(name = "Dataflow", description = "Which operand stays in the array")
  Dataflow dataflow() default Dataflow.WEIGHT_STATIONARY;

  /** Elements that the vector unit computes in a cycle. */
  @AttributeDefinition(
      name = "Lanes",
      description = "8-bit elements that the vector unit computes in a cycle",
      min = "1",
      max = "1024")
  int lanes() default 32;

  /** Bytes of the scratchpad. */
  @AttributeDefinition(
      name = "Scratchpad bytes",
      description = "Size of the memory that array and vector unit read and write",
      min = "4096",
      max = "67108864")
  int scratchpadBytes() default 256 << 10;

  /** Accumulators. */
  @AttributeDefinition(
      name = "Accumulators",
      description = "Number of 32-bit sums that the array adds to",
      min = "256",
      max = "4194304")
  int accumulators() default 16 << 10;

  /** Bytes of DRAM. */
  @AttributeDefinition(
      name = "DRAM bytes",
      description = "Size of the device's own memory, for weights and tensors of one model",
      min = "65536")
  int dramBytes() default 64 << 20;

  /** Bytes per second of DRAM. */
  @AttributeDefinition(
      name = "Bandwidth",
      description = "Bytes per second between DRAM and scratchpad, in either direction",
      min = "1")
  double bytesPerSecond() default 6.4e9;

  /** Nanoseconds to the first byte. */
  @AttributeDefinition(
      name = "Latency",
      description = "Nanoseconds from the start of a burst to its first byte",
      min = "0")
  double latencyNanos() default 20;

  /** Bytes of DRAM for buffers. */
  @AttributeDefinition(
      name = "Buffer bytes",
      description = "DRAM beside that of models, for arguments that stay on the device",
      min = "1")
  int bufferBytes() default 16 << 20;

  /** Bytes per second between host and device. */
  @AttributeDefinition(
      name = "Host bandwidth",
      description = "Bytes per second between the host's memory and DRAM, in either direction",
      min = "1")
  double hostBytesPerSecond() default 985e6;

  /** Nanoseconds to the first byte from the host. */
  @AttributeDefinition(
      name = "Host latency",
      description = "Nanoseconds that each transfer between host and DRAM takes to start",
      min = "0")
  double hostLatencyNanos() default 1000;

  /** Static power. */
  @AttributeDefinition(
      name = "Leakage",
      description = "Watts that the device draws at 0.9 V even when it does nothing",
      min = "0")
  double leakageWatts() default 0.01;

  /** The power that the package sheds. */
  @AttributeDefinition(
      name = "Thermal limit",
      description = "Watts that the package sheds for ever: SUSTAINED_SPEED stays below",
      min = "0")
  double thermalWatts() default 0.1;

  /** Tilings tried for each operation. */
  @AttributeDefinition(
      name = "Search budget",
      description =
          "Tilings that the second stage of a compilation tries for each operation; 0 for no"
              + " second stage",
      min = "0")
  int searchBudget() default 512;

  /** The time of the second stage. */
  @AttributeDefinition(
      name = "Search first",
      description =
          "Whether preparing waits for the second stage, so that the first execution has its times"
              + " already; otherwise it runs in the background")
  boolean searchFirst() default false;

  /** Seed of the search. */
  @AttributeDefinition(
      name = "Seed",
      description = "Of the sequence of tilings that are tried; the same seed gives the same bytes")
  long seed() default 1;
}
