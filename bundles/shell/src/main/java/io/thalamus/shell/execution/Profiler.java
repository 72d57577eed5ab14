// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The times of single operations, as a device tells them that has the whole model. Used by one
 * thread.
 */
public record Profiler(Model model, List<Tensor> inputs) {
  private static final int LEAST_EXECUTIONS = 5;

  /** Returns whether a device takes all operations. */
  public boolean isWholeOn(Device device) throws DeviceException {
    return device.supportedOperations(model).cardinality() == model.main().operations().size();
  }

  /**
   * Executes on a device for some time.
   *
   * @return of each operation its median in the latter half of the executions, when code is
   *     compiled, and the best that was seen of the processor; empty if the device cannot tell
   * @throws CommandException where an output has no size before the execution
   * @throws DeviceException where the device fails
   */
  public Optional<ExecutionProfile> profile(Device device, Duration time) throws DeviceException {
    List<SharedMemory> memories = new ArrayList<>();
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      Request request = request(memories);
      List<ExecutionProfile> all = new ArrayList<>();
      long end = System.nanoTime() + time.toNanos();
      while (all.size() < LEAST_EXECUTIONS || System.nanoTime() < end) {
        Optional<ExecutionProfile> one = prepared.profile(request);
        if (one.isEmpty()) {
          return one;
        }
        all.add(one.get());
      }
      List<ExecutionProfile> latter = all.subList(all.size() / 2, all.size());
      return Optional.of(
          new ExecutionProfile(
              IntStream.range(0, model.main().operations().size())
                  .mapToObj(
                      i -> median(latter.stream().mapToLong(one -> one.nanos().get(i)).toArray()))
                  .toList(),
              all.stream().mapToDouble(ExecutionProfile::floatPeak).max().orElse(0),
              all.stream().mapToDouble(ExecutionProfile::bytePeak).max().orElse(0)));
    } finally {
      memories.forEach(SharedMemory::close);
    }
  }

  private static long median(long[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  private Request request(List<SharedMemory> memories) {
    Subgraph graph = model.main();
    List<Request.Argument> in = new ArrayList<>();
    for (Tensor input : inputs) {
      SharedMemory memory = allocate(input.segment().byteSize(), memories);
      MemorySegment.copy(input.segment(), 0, memory.segment(), 0, input.segment().byteSize());
      in.add(location(memories));
    }
    List<Request.Argument> out = new ArrayList<>();
    for (int i = 0; i < graph.outputIndexes().size(); i++) {
      long bytes = graph.output(i).byteSize();
      if (bytes <= 0) {
        throw new CommandException(
            "a profile needs outputs of known size, which output " + i + " has not");
      }
      allocate(bytes, memories);
      out.add(location(memories));
    }
    return new Request(in, out, memories.stream().<MemoryPool>map(MemoryPool.Shared::new).toList());
  }

  private static SharedMemory allocate(long bytes, List<SharedMemory> memories) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    memories.add(memory);
    return memory;
  }

  private static Request.Location location(List<SharedMemory> memories) {
    return new Request.Location(memories.size() - 1, 0, memories.getLast().size(), Shape.NONE);
  }
}
