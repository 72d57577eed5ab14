// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.operations.OperationCatalog;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;

/**
 * A device of three kernels on float32: ADD of equal shapes, which first writes nonsense into its
 * scratch memory, RESHAPE, and FLOOR, which does what a test wants meanwhile.
 */
final class TestDevice extends KernelDevice {
  /** Enough to harm whoever stands beside it. */
  static final int SCRATCH = 100;

  TestDevice() {
    this(() -> {});
  }

  /**
   * @param duringFloor what FLOOR does before it computes
   */
  TestDevice(Runnable duringFloor) {
    this(duringFloor, false, BurstSource.NONE);
  }

  private TestDevice(Runnable duringFloor, boolean hasBuffers, BurstSource bursts) {
    super(facts(hasBuffers), kernels(duringFloor), OperationCatalog.standard(), bursts);
  }

  /** A device that allocates buffers. */
  static TestDevice withBuffers(Runnable duringFloor) {
    return new TestDevice(duringFloor, true, BurstSource.NONE);
  }

  /** A device that allocates buffers and serves bursts. */
  static TestDevice withBursts(Runnable duringFloor, BurstSource bursts) {
    return new TestDevice(duringFloor, true, bursts);
  }

  BufferTracker tracker() {
    return buffers();
  }

  private static DeviceInfo facts(boolean hasBuffers) {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("test-device", "1")
        .capabilities(new Capabilities(one, one, Map.of(), one, one))
        .memoryDomain(hasBuffers)
        .build();
  }

  static KernelTable kernels(Runnable duringFloor) {
    return KernelTable.builder()
        .add(
            OperationCode.ADD,
            operation -> {
              Kernel add = TestDevice::add;
              return add.withScratch(SCRATCH);
            },
            OperandCode.TENSOR_FLOAT32)
        .add(
            OperationCode.RESHAPE,
            operation -> (inputs, outputs, scratch, work) -> outputs[0].copyFrom(inputs[0]),
            OperandCode.TENSOR_FLOAT32)
        .add(
            OperationCode.FLOOR,
            operation ->
                (inputs, outputs, scratch, work) -> {
                  duringFloor.run();
                  floor(inputs[0], outputs[0]);
                },
            OperandCode.TENSOR_FLOAT32)
        .build();
  }

  private static void add(
      MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
    scratch.asSlice(0, SCRATCH).fill((byte) 0x55);
    for (long i = 0; i < outputs[0].byteSize() / Float.BYTES; i++) {
      float sum =
          inputs[0].getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i)
              + inputs[1].getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
      outputs[0].setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, sum);
    }
  }

  private static void floor(MemorySegment input, MemorySegment output) {
    for (long i = 0; i < output.byteSize() / Float.BYTES; i++) {
      double value = input.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
      output.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, (float) Math.floor(value));
    }
  }
}
