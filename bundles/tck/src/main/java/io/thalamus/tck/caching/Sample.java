// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * A model of one input and one output, and a value for the input. Immutable; borrows the memory of
 * its constants.
 */
record Sample(String name, Model model, byte[] input) {
  /** Returns whether a device takes all of it. */
  boolean isSupportedBy(Device device) throws DeviceException {
    return device.supportedOperations(model).cardinality() == model.main().operations().size();
  }

  /** Returns what the device computes without any cache. */
  byte[] expected(Device device) throws DeviceException {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      return run(prepared);
    }
  }

  /** The output of one run. */
  byte[] run(PreparedModel prepared) {
    Operand output = model.main().output(0);
    long outputAt = (input.length + 63L) / 64 * 64;
    try (SharedMemory memory =
        SharedMemory.allocate(MemoryKind.ASHMEM, outputAt + output.byteSize())) {
      MemorySegment.copy(input, 0, memory.segment(), ValueLayout.JAVA_BYTE, 0, input.length);
      List<Request.Argument> in = new ArrayList<>();
      in.add(new Request.Location(0, 0, input.length, Shape.NONE));
      List<Request.Argument> out = new ArrayList<>();
      out.add(new Request.Location(0, outputAt, output.byteSize(), Shape.NONE));
      ExecutionResult result =
          prepared.execute(
              new Request(in, out, List.of(new MemoryPool.Shared(memory))),
              ExecutionConfig.DEFAULT);
      if (!(result instanceof ExecutionResult.Completed)) {
        throw new IllegalStateException("an execution of " + name + " ended with " + result);
      }
      return memory.segment().asSlice(outputAt, output.byteSize()).toArray(ValueLayout.JAVA_BYTE);
    }
  }
}
