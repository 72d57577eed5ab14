// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

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
import io.thalamus.model.Capabilities;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** RELU of some quantized types with one scale, with a fault if wanted. */
final class ReluDevice implements Device {
  private final Set<OperandCode> types;
  private final int signedError;
  private final boolean exact;

  /**
   * @param types what is supported
   * @param signedError what is added to signed results
   * @param exact whether quantized results are said to be exact
   */
  ReluDevice(Set<OperandCode> types, int signedError, boolean exact) {
    this.types = types;
    this.signedError = signedError;
    this.exact = exact;
  }

  @Override
  public DeviceInfo info() {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("thalamus-relu", "1")
        .capabilities(new Capabilities(one, one, Map.of(), one, one))
        .exactQuantized(exact)
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) {
    BitSet supported = new BitSet();
    supported.set(0, model.main().input(0).type() instanceof OperandCode t && types.contains(t));
    return supported;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) {
    return new Prepared(model.main().input(0), model.main().output(0));
  }

  private final class Prepared implements PreparedModel {
    private final Operand input;
    private final Operand output;

    Prepared(Operand input, Operand output) {
      this.input = input;
      this.output = output;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      MemorySegment in = segment(request, request.inputs().getFirst());
      MemorySegment out = segment(request, request.outputs().getFirst());
      boolean signed = input.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
      for (long i = 0; i < in.byteSize(); i++) {
        int stored = in.get(ValueLayout.JAVA_BYTE, i);
        stored = signed ? stored : stored & 0xFF;
        int result = Math.max(stored, input.quantization().zeroPoint());
        out.set(ValueLayout.JAVA_BYTE, i, (byte) (signed ? result + signedError : result));
      }
      return new ExecutionResult.Completed(
          List.of(new OutputShape(output.shape(), true)), Timing.NONE);
    }

    private MemorySegment segment(Request request, Request.Argument argument) {
      Request.Location place = (Request.Location) argument;
      return ((MemoryPool.Shared) request.pools().get(place.pool()))
          .memory()
          .segment()
          .asSlice(place.offset(), place.length());
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      ExecutionResult result = execute(request, config);
      return new FencedExecution(
          SyncFence.signalled(), () -> new FencedExecution.Info(result, Timing.NONE, Timing.NONE));
    }

    @Override
    public void close() {
      // Holds nothing.
    }
  }
}
