// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Capabilities;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Elements;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.Values;
import io.thalamus.vectors.VectorFormatException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Computes with the oracle itself; the outputs of one operation are a little off. */
final class EvaluatorDevice implements Device {
  private final Evaluator evaluator = new Evaluator();
  private final String wrongOperation;
  private final ToDoubleFunction<OperandCode> error;

  /**
   * @param wrongOperation whose outputs are wrong
   * @param error what is added to its first stored element, by type
   */
  EvaluatorDevice(String wrongOperation, ToDoubleFunction<OperandCode> error) {
    this.wrongOperation = wrongOperation;
    this.error = error;
  }

  @Override
  public DeviceInfo info() {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("thalamus-oracle", "1")
        .capabilities(new Capabilities(one, one, Map.of(), one, one))
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) {
    BitSet all = new BitSet();
    all.set(0, model.main().operations().size());
    return all;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) {
    return new PreparedModel() {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
        try {
          return compute(model, request);
        } catch (VectorFormatException | DeviceException e) {
          return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, e.getMessage());
        }
      }

      @Override
      public void close() {
        // Holds nothing.
      }
    };
  }

  private ExecutionResult compute(Model model, Request request)
      throws VectorFormatException, DeviceException {
    Subgraph graph = model.main();
    List<MemorySegment> inputs =
        request.inputs().stream().map(input -> segment(request, input)).toList();
    List<Example.Result> results = new ArrayList<>();
    for (int i = 0; i < graph.outputIndexes().size(); i++) {
      Operand output = graph.output(i);
      results.add(
          new Example.Result(
              output.shape(), MemorySegment.ofArray(new byte[(int) output.byteSize()])));
    }
    Example example = Example.of("request", model, inputs, results);
    List<Tensor> values = evaluate(example);
    List<OutputShape> shapes = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      Tensor value = values.get(example.main().outputIndexes().get(i));
      byte[] bytes = Elements.encode(value.type(), Graphs.stored(value));
      MemorySegment.copy(
          MemorySegment.ofArray(bytes),
          0,
          segment(request, request.outputs().get(i)),
          0,
          bytes.length);
      shapes.add(new OutputShape(Shape.of(value.shape()), true));
    }
    return new ExecutionResult.Completed(shapes, Timing.NONE);
  }

  private List<Tensor> evaluate(Example example) {
    List<Tensor> values = new ArrayList<>(evaluator.evaluate(example));
    for (RawOperation operation : example.main().operations()) {
      List<Tensor> outputs = evaluator.evaluate(example.main(), operation, values);
      for (int i = 0; i < outputs.size(); i++) {
        Tensor output = exact(outputs.get(i));
        values.set(
            operation.outputs().get(i),
            i == 0 && operation.type().equals(wrongOperation) ? spoiled(output) : output);
      }
    }
    return values;
  }

  /** What a device without any error computes. */
  private static Tensor exact(Tensor tensor) {
    return with(tensor, Graphs.stored(tensor));
  }

  private Tensor spoiled(Tensor tensor) {
    Values stored = Graphs.stored(tensor);
    double off = stored.get(0) + error.applyAsDouble(tensor.type());
    double kept =
        switch (tensor.type()) {
          case TENSOR_BOOL8 -> 1 - stored.get(0);
          case TENSOR_QUANT8_ASYMM -> off > 255 ? stored.get(0) - (off - stored.get(0)) : off;
          case TENSOR_QUANT8_ASYMM_SIGNED ->
              off > 127 ? stored.get(0) - (off - stored.get(0)) : off;
          default -> off;
        };
    return with(tensor, stored.with(0, kept));
  }

  private static Tensor with(Tensor tensor, Values stored) {
    return Evaluator.tensor(
        io.thalamus.vectors.RawOperand.of(
                "",
                tensor.type().name(),
                io.thalamus.vectors.RawOperand.Dims.of(tensor.shape()),
                "CONSTANT_COPY",
                0)
            .withScale(tensor.scale())
            .withZeroPoint(tensor.zeroPoint()),
        stored);
  }

  private static MemorySegment segment(Request request, Request.Argument argument) {
    Request.Location place = (Request.Location) argument;
    return ((MemoryPool.Shared) request.pools().get(place.pool()))
        .memory()
        .segment()
        .asSlice(place.offset(), place.length());
  }
}
