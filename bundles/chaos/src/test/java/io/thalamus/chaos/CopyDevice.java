// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Copies its input to its output, whatever the model; fenced executions end when told. */
final class CopyDevice implements Device {
  static final int BYTES = 100;

  private static final ExecutionResult COMPLETED =
      new ExecutionResult.Completed(List.of(new OutputShape(Shape.NONE, true)), Timing.NONE);

  final AtomicInteger executions = new AtomicInteger();
  final SyncFence fence = new SyncFence();
  volatile List<BufferRole> roles;

  @Override
  public DeviceInfo info() {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("test-copy", "1")
        .capabilities(new Capabilities(one, one, Map.of(), one, one))
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) {
    return new BitSet();
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) {
    return new Prepared();
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> given) throws DeviceException {
    roles = given;
    return Device.super.allocate(desc, given);
  }

  /** A request of its own memory, input first. */
  static Request request(SharedMemory memory) {
    return new Request(
        List.of(new Request.Location(0, 0, BYTES, Shape.NONE)),
        List.of(new Request.Location(0, BYTES, BYTES, Shape.NONE)),
        List.of(new MemoryPool.Shared(memory)));
  }

  static SharedMemory memory() {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 2 * BYTES);
    memory.segment().asSlice(0, BYTES).fill((byte) 0x5A);
    return memory;
  }

  /** Returns the number of bits in which output and input differ. */
  static int wrongBits(SharedMemory memory) {
    BitSet input = bits(memory.segment().asSlice(0, BYTES));
    input.xor(bits(memory.segment().asSlice(BYTES, BYTES)));
    return input.cardinality();
  }

  static BitSet bits(MemorySegment segment) {
    return BitSet.valueOf(segment.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE));
  }

  final class Prepared implements PreparedModel {
    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      executions.incrementAndGet();
      if (request.outputs().getFirst() instanceof Request.Pointer output
          && request.inputs().getFirst() instanceof Request.Pointer input) {
        output.segment().copyFrom(input.segment());
        return COMPLETED;
      }
      MemorySegment all = ((MemoryPool.Shared) request.pools().getFirst()).memory().segment();
      MemorySegment.copy(all, 0, all, BYTES, BYTES);
      return COMPLETED;
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) {
      ExecutionResult result = execute(request, config);
      return new FencedExecution(
          fence, () -> new FencedExecution.Info(result, Timing.NONE, Timing.NONE));
    }

    @Override
    public void close() {
      // Holds nothing.
    }
  }
}
