// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The CPU device with one fault: the sign of the first result of a model that adds is lost. */
final class WrongDevice extends DelegatingDevice {
  WrongDevice() {
    super(new CpuDevice("1.0.0"));
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    PreparedModel prepared = super.prepare(model, config);
    boolean adds =
        model.main().operations().stream()
            .anyMatch(operation -> operation.type() == OperationCode.ADD);
    return adds ? new Wrong(this, prepared) : prepared;
  }

  private static final class Wrong extends DelegatingPreparedModel {
    Wrong(WrongDevice device, PreparedModel prepared) {
      super(device, prepared);
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      ExecutionResult result = super.execute(request, config);
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
  }
}
