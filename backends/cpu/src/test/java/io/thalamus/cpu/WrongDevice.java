// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import java.util.List;

/** The CPU device with one fault: the sign of the first result of a model that adds is lost. */
final class WrongDevice implements Device {
  private final Device device = new CpuDevice("1.0.0");

  @Override
  public DeviceInfo info() {
    return device.info();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    return device.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    PreparedModel prepared = device.prepare(model, config);
    boolean adds =
        model.main().operations().stream()
            .anyMatch(operation -> operation.type() == OperationCode.ADD);
    return adds ? new Wrong(prepared) : prepared;
  }

  private record Wrong(PreparedModel prepared) implements PreparedModel {
    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      ExecutionResult result = prepared.execute(request, config);
      if (result instanceof ExecutionResult.Completed) {
        Request.Location place = (Request.Location) request.outputs().getFirst();
        MemorySegment memory =
            ((MemoryPool.Shared) request.pools().get(place.pool())).memory().segment();
        long last = place.offset() + Math.min(place.length(), Float.BYTES) - 1;
        byte stored = memory.get(ValueLayout.JAVA_BYTE, last);
        memory.set(ValueLayout.JAVA_BYTE, last, (byte) (stored ^ 0x80));
      }
      return result;
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      return prepared.executeFenced(request, waitFor, config);
    }

    @Override
    public void close() {
      prepared.close();
    }
  }
}
