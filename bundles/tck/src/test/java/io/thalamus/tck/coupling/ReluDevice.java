// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.tck.graph.EvaluatorDevice;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import java.util.List;
import java.util.Set;

/** A device for some types, whose signed results are a little off if wanted. */
final class ReluDevice extends DelegatingDevice {
  private final Set<OperandCode> types;
  private final int signedError;
  private final boolean exact;

  /**
   * @param types what is supported
   * @param signedError what is added to signed results
   * @param exact whether quantized results are said to be exact
   */
  ReluDevice(Set<OperandCode> types, int signedError, boolean exact) {
    super(new EvaluatorDevice());
    this.types = types;
    this.signedError = signedError;
    this.exact = exact;
  }

  @Override
  public DeviceInfo info() {
    return DeviceInfo.builder("thalamus-relu", "1")
        .capabilities(super.info().capabilities())
        .exactQuantized(exact)
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    return model.main().input(0).type() instanceof OperandCode type && types.contains(type)
        ? super.supportedOperations(model)
        : new BitSet();
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    PreparedModel right = super.prepare(model, config);
    if (model.main().input(0).type() != OperandCode.TENSOR_QUANT8_ASYMM_SIGNED) {
      return right;
    }
    return new DelegatingPreparedModel(this, right) {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
        ExecutionResult result = super.execute(request, executionConfig);
        addError(request);
        return result;
      }

      @Override
      public FencedExecution executeFenced(
          Request request, List<SyncFence> waitFor, ExecutionConfig executionConfig)
          throws DeviceException {
        FencedExecution execution = super.executeFenced(request, waitFor, executionConfig);
        addError(request);
        return execution;
      }
    };
  }

  private void addError(Request request) {
    Request.Location place = (Request.Location) request.outputs().getFirst();
    MemoryPool.Shared pool = (MemoryPool.Shared) request.pools().get(place.pool());
    MemorySegment output = pool.memory().segment().asSlice(place.offset(), place.length());
    for (long i = 0; i < output.byteSize(); i++) {
      int right = output.get(ValueLayout.JAVA_BYTE, i);
      output.set(ValueLayout.JAVA_BYTE, i, (byte) (right + signedError));
    }
  }
}
