// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.npu.timing.Dataflow;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The settings of the device. A change makes it leave and come back. */
@ObjectClassDefinition(name = "Thalamus simulated NPU")
@Retention(RetentionPolicy.RUNTIME)
@interface NpuSettings {
  @AttributeDefinition(
      name = "Rows",
      description = "Rows of the systolic array: inputs that one cycle multiplies",
      min = "1",
      max = "256")
  int rows() default 16;

  @AttributeDefinition(
      name = "Columns",
      description = "Columns of the systolic array: output channels that one cycle adds to",
      min = "1",
      max = "256")
  int columns() default 16;

  @AttributeDefinition(name = "Dataflow", description = "Which operand stays in the array")
  Dataflow dataflow() default Dataflow.WEIGHT_STATIONARY;

  @AttributeDefinition(
      name = "Lanes",
      description = "8-bit elements that the vector unit computes in a cycle",
      min = "1",
      max = "1024")
  int lanes() default 32;

  @AttributeDefinition(
      name = "Scratchpad bytes",
      description = "Size of the memory that array and vector unit read and write",
      min = "4096",
      max = "67108864")
  int scratchpadBytes() default 256 << 10;

  @AttributeDefinition(
      name = "Accumulators",
      description = "Number of 32-bit sums that the array adds to",
      min = "256",
      max = "4194304")
  int accumulators() default 16 << 10;

  @AttributeDefinition(
      name = "DRAM bytes",
      description = "Size of the device's own memory, for weights and tensors of one model",
      min = "65536")
  int dramBytes() default 64 << 20;

  @AttributeDefinition(
      name = "Bandwidth",
      description = "Bytes per second between DRAM and scratchpad, in either direction",
      min = "1")
  double bytesPerSecond() default 6.4e9;

  @AttributeDefinition(
      name = "Latency",
      description = "Nanoseconds from the start of a burst to its first byte",
      min = "0")
  double latencyNanos() default 20;

  @AttributeDefinition(
      name = "Buffer bytes",
      description = "DRAM beside that of models, for arguments that stay on the device",
      min = "1")
  int bufferBytes() default 16 << 20;

  @AttributeDefinition(
      name = "Host bandwidth",
      description = "Bytes per second between the host's memory and DRAM, in either direction",
      min = "1")
  double hostBytesPerSecond() default 985e6;

  @AttributeDefinition(
      name = "Host latency",
      description = "Nanoseconds that each transfer between host and DRAM takes to start",
      min = "0")
  double hostLatencyNanos() default 1000;

  @AttributeDefinition(
      name = "Leakage",
      description = "Watts that the device draws at 0.9 V even when it does nothing",
      min = "0")
  double leakageWatts() default 0.01;

  @AttributeDefinition(
      name = "Thermal limit",
      description = "Watts that the package sheds for ever: SUSTAINED_SPEED stays below",
      min = "0")
  double thermalWatts() default 0.1;

  @AttributeDefinition(
      name = "Search budget",
      description =
          "Tilings that the second stage of a compilation tries for each operation; 0 for no"
              + " second stage",
      min = "0")
  int searchBudget() default 512;

  @AttributeDefinition(
      name = "Search first",
      description =
          "Whether preparing waits for the second stage, so that the first execution has its times"
              + " already; otherwise it runs in the background")
  boolean searchFirst() default false;

  @AttributeDefinition(
      name = "Seed",
      description = "Of the sequence of tilings that are tried; the same seed gives the same bytes")
  long seed() default 1;
}
