// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Capabilities;
import io.thalamus.model.Deadline;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OutputShape;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.operations.ModelValidator;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.ElementCodec;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.Values;
import io.thalamus.vectors.VectorFormatException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;

/**
 * A device that computes with the oracle itself, slowly, and keeps all rules that the kit knows;
 * the outputs of one operation are a little off, where that is wanted. Thread-safe.
 */
public final class EvaluatorDevice implements Device {
  /** Larger operands would take minutes. */
  private static final int MOST_ELEMENTS = 1 << 15;

  private static final Set<MemoryKind> KINDS =
      EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD, MemoryKind.HARDWARE_BUFFER_BLOB);

  private final Evaluator evaluator = new Evaluator();
  private final ModelValidator validator = OperationCatalog.standard().validator();
  private final String wrongOperation;
  private final ToDoubleFunction<OperandCode> error;

  /** A device that is right. */
  public EvaluatorDevice() {
    this("", _ -> 0);
  }

  /**
   * A device with a fault.
   *
   * @param wrongOperation whose outputs are wrong
   * @param error what is added to its first stored element, by type
   */
  public EvaluatorDevice(String wrongOperation, ToDoubleFunction<OperandCode> error) {
    this.wrongOperation = wrongOperation;
    this.error = error;
  }

  @Override
  public DeviceInfo info() {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("thalamus-oracle", "1")
        .capabilities(new Capabilities(one, one, Map.of(), one, one))
        .memoryKinds(KINDS)
        .extensions(Set.of(ThalamusExtension.NAME))
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    validate(model);
    BitSet supported = new BitSet();
    boolean isReadable = model.pools().stream().allMatch(pool -> KINDS.contains(pool.kind()));
    boolean isSmall =
        model.main().operands().stream()
            .allMatch(o -> !o.isSizeKnown() || o.shape().elementCount() <= MOST_ELEMENTS);
    boolean isSpecified =
        model.main().outputIndexes().stream()
            .allMatch(index -> model.main().operands().get(index).isSizeKnown());
    for (int i = 0; i < model.main().operations().size(); i++) {
      Operation operation = model.main().operations().get(i);
      supported.set(i, isReadable && isSmall && isSpecified && isSupported(operation));
    }
    return supported;
  }

  private boolean isSupported(Operation operation) {
    String name =
        operation.type() instanceof ExtensionOperationType extension
            ? Evaluator.name(extension)
            : operation.type().text();
    return evaluator.operations().contains(name);
  }

  private void validate(Model model) throws DeviceException {
    try {
      validator.validate(model);
    } catch (ValidationException e) {
      throw new DeviceException(e.status(), e.getMessage(), e);
    }
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    validate(model);
    for (SharedMemory pool : model.pools()) {
      if (!KINDS.contains(pool.kind())) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "constants in " + pool.kind());
      }
    }
    if (config.deadline().hasPassed()) {
      throw new DeviceException(ErrorStatus.MISSED_DEADLINE_PERSISTENT, "late");
    }
    for (int i = 0; i < model.main().operations().size(); i++) {
      check(config.deadline(), config.control());
    }
    return new Prepared(model);
  }

  private static void check(Deadline deadline, ExecutionControl control) throws DeviceException {
    switch (deadline.hasPassed() ? Signal.DEADLINE : control.checkpoint()) {
      case CONTINUE -> {}
      case CANCELLED -> throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "cancelled");
      case DEADLINE ->
          throw new DeviceException(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "out of time");
    }
  }

  private final class Prepared implements PreparedModel {
    private final Model model;
    private volatile boolean closed;

    Prepared(Model model) {
      this.model = model;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      try {
        check(request, config);
        return compute(model, request, config);
      } catch (DeviceException e) {
        return new ExecutionResult.Failed(e.status(), e.getMessage());
      } catch (VectorFormatException e) {
        return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, e.getMessage());
      }
    }

    private void check(Request request, ExecutionConfig config) throws DeviceException {
      if (closed) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "closed");
      }
      if (request.inputs().size() != model.main().inputIndexes().size()
          || request.outputs().size() != model.main().outputIndexes().size()) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a wrong number of arguments");
      }
      for (MemoryPool pool : request.pools()) {
        if (!(pool instanceof MemoryPool.Shared shared)) {
          throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a buffer of somebody else");
        }
        if (!KINDS.contains(shared.memory().kind())) {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "arguments in " + shared);
        }
      }
      for (int i = 0; i < request.inputs().size(); i++) {
        check(request, request.inputs().get(i), model.main().input(i), false);
      }
      for (int i = 0; i < request.outputs().size(); i++) {
        check(request, request.outputs().get(i), model.main().output(i), true);
      }
      if (config.deadline().hasPassed()) {
        throw new DeviceException(ErrorStatus.MISSED_DEADLINE_PERSISTENT, "late");
      }
    }

    private void check(
        Request request, Request.Argument argument, Operand operand, boolean mayBeLonger)
        throws DeviceException {
      boolean isRight =
          argument instanceof Request.Location place
              && place.pool() >= 0
              && place.pool() < request.pools().size()
              && place.offset() + place.length()
                  <= ((MemoryPool.Shared) request.pools().get(place.pool())).memory().size()
              && (place.length() == operand.byteSize()
                  || mayBeLonger && place.length() > operand.byteSize())
              && (place.shape().equals(Shape.NONE) || place.shape().equals(operand.shape()));
      if (!isRight) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "no place for a value");
      }
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private ExecutionResult compute(Model model, Request request, ExecutionConfig config)
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
    List<Tensor> values = evaluate(example, config);
    List<OutputShape> shapes = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      Tensor value = values.get(example.main().outputIndexes().get(i));
      byte[] bytes = ElementCodec.encode(value.type(), Graphs.stored(value));
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

  private List<Tensor> evaluate(Example example, ExecutionConfig config) throws DeviceException {
    // Without operations these are the inputs and constants.
    Example given = example.withMain(example.main().withOperations(List.of()));
    List<Tensor> values = new ArrayList<>(evaluator.evaluate(given));
    for (RawOperation operation : example.main().operations()) {
      check(config.deadline(), config.control());
      List<Tensor> outputs = evaluator.evaluate(example.main(), operation, values);
      for (int i = 0; i < outputs.size(); i++) {
        Tensor output = exact(outputs.get(i));
        values.set(
            operation.outputs().get(i),
            i == 0 && operation.type().equals(wrongOperation) ? damaged(output) : output);
      }
    }
    return values;
  }

  /** The result of a device without any error. */
  private static Tensor exact(Tensor tensor) {
    return with(tensor, Graphs.stored(tensor));
  }

  private Tensor damaged(Tensor tensor) {
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
        RawOperand.of(
                "", tensor.type().name(), RawOperand.Dims.of(tensor.shape()), "CONSTANT_COPY", 0)
            .withScale(tensor.scale())
            .withZeroPoint(tensor.zeroPoint()),
        stored);
  }

  private static MemorySegment segment(Request request, Request.Argument argument) {
    if (!(argument instanceof Request.Location place)) {
      return MemorySegment.ofArray(new byte[0]);
    }
    return ((MemoryPool.Shared) request.pools().get(place.pool()))
        .memory()
        .segment()
        .asSlice(place.offset(), place.length());
  }
}
