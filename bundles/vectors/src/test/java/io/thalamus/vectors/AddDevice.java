// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static io.thalamus.model.LittleEndian.FLOAT;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;

/**
 * A device that adds float32 tensors of one shape, and whose WHILE never ends; that is enough to
 * see whether the runner judges rightly. It can be told to do one thing wrong.
 */
final class AddDevice implements Device {
  enum Fault {
    NONE,
    WRONG_VALUE,
    WRONG_SHAPE,
    UNASKED_TIMING,
    IMPOSSIBLE_TIMING,
    WRITES_BEHIND,
    CHANGES_INPUT,
    WRITES_NOTHING,
    ALL_INSUFFICIENT,
    NOTHING_INSUFFICIENT,
    ACCEPTS_EVERYTHING,
    LOOP_FAILS_OTHERWISE,
    THROWS
  }

  private final Fault fault;

  AddDevice(Fault fault) {
    this.fault = fault;
  }

  @Override
  public DeviceInfo info() {
    PerformanceInfo performance = new PerformanceInfo(1, 1);
    return DeviceInfo.builder("test-add", "1")
        .capabilities(
            new Capabilities(performance, performance, Map.of(), performance, performance))
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    check(model);
    BitSet supported = new BitSet();
    List<Operation> operations = model.main().operations();
    for (int i = 0; i < operations.size(); i++) {
      supported.set(
          i,
          operations.get(i).type() == OperationCode.ADD
              || operations.get(i).type() == OperationCode.WHILE);
    }
    return supported;
  }

  private void check(Model model) throws DeviceException {
    Subgraph main = model.main();
    if (fault == Fault.ACCEPTS_EVERYTHING || main.inputIndexes().size() < 2) {
      return;
    }
    if (!main.input(0).shape().equals(main.input(1).shape())) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "the shapes differ");
    }
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    check(model);
    return new Prepared(model, fault);
  }

  private record Prepared(Model model, Fault fault) implements PreparedModel {
    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      if (fault == Fault.THROWS) {
        throw new IllegalStateException("a bug");
      }
      if (model.main().operations().getFirst().type() == OperationCode.WHILE) {
        boolean rightly =
            fault != Fault.LOOP_FAILS_OTHERWISE
                && config.loopTimeout().equals(Duration.ofMillis(1));
        return new ExecutionResult.Failed(
            rightly ? ErrorStatus.MISSED_DEADLINE_TRANSIENT : ErrorStatus.GENERAL_FAILURE,
            "it loops");
      }
      Request.Location place = (Request.Location) request.outputs().getFirst();
      MemorySegment pool = segment(request, place);
      MemorySegment output = pool.asSlice(place.offset(), place.length());
      MemorySegment a = argument(request, 0);
      MemorySegment b = argument(request, 1);
      Shape shape = shape(request);
      long needed = Math.min(a.byteSize(), b.byteSize());
      if (place.length() < needed) {
        return new ExecutionResult.OutputInsufficientSize(
            List.of(new OutputShape(shape, fault == Fault.NOTHING_INSUFFICIENT)));
      }
      if (fault != Fault.WRITES_NOTHING) {
        for (long i = 0; i < needed; i += Float.BYTES) {
          float sum = a.get(FLOAT, i) + b.get(FLOAT, i);
          boolean spoilt = fault == Fault.WRONG_VALUE && i == needed - Float.BYTES;
          output.set(FLOAT, i, spoilt ? sum + 0.5f : sum);
        }
      }
      if (fault == Fault.WRITES_BEHIND) {
        pool.set(ValueLayout.JAVA_BYTE, place.offset() + place.length(), (byte) 0);
      }
      if (fault == Fault.CHANGES_INPUT) {
        Request.Location input = (Request.Location) request.inputs().getFirst();
        segment(request, input).set(ValueLayout.JAVA_BYTE, input.offset(), (byte) 77);
      }
      return new ExecutionResult.Completed(List.of(told(shape)), timing(config));
    }

    /** That of the first input, which comes with its value where the model leaves it open. */
    private Shape shape(Request request) {
      Shape declared = model.main().operands().get(operation().inputs().getFirst()).shape();
      return request.inputs().getFirst() instanceof Request.Location place
              && place.shape().rank() > 0
          ? place.shape()
          : declared;
    }

    private Operation operation() {
      return model.main().operations().getFirst();
    }

    private OutputShape told(Shape shape) {
      Shape told = fault == Fault.WRONG_SHAPE ? Shape.of(1, 2, 3) : shape;
      return new OutputShape(told, fault != Fault.ALL_INSUFFICIENT);
    }

    private Timing timing(ExecutionConfig config) {
      if (fault == Fault.IMPOSSIBLE_TIMING) {
        return Timing.of(Duration.ofMillis(2), Duration.ofMillis(1));
      }
      return config.measureTiming() || fault == Fault.UNASKED_TIMING
          ? Timing.of(Duration.ofMillis(1), Duration.ofMillis(2))
          : Timing.NONE;
    }

    private MemorySegment argument(Request request, int number) {
      int index = operation().inputs().get(number);
      Operand operand = model.main().operands().get(index);
      if (operand.lifetime() instanceof Lifetime.Constant constant) {
        return constant.bytes();
      }
      return switch (request.inputs().get(model.main().inputIndexes().indexOf(index))) {
        case Request.NoValue _ -> MemorySegment.ofArray(new byte[0]);
        case Request.Location place ->
            segment(request, place).asSlice(place.offset(), place.length());
        case Request.Pointer pointer -> pointer.segment();
      };
    }

    private static MemorySegment segment(Request request, Request.Location place) {
      return ((MemoryPool.Shared) request.pools().get(place.pool())).memory().segment();
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      Operand output = model.main().output(0);
      if (output.type() == OperandCode.TENSOR_FLOAT32 && !output.isSizeKnown()) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "the outputs are unknown");
      }
      ExecutionResult result = execute(request, config);
      if (result instanceof ExecutionResult.Failed failed) {
        throw new DeviceException(failed.status(), failed.message());
      }
      return new FencedExecution(
          SyncFence.signalled(), () -> new FencedExecution.Info(result, Timing.NONE, Timing.NONE));
    }

    @Override
    public void close() {}
  }
}
