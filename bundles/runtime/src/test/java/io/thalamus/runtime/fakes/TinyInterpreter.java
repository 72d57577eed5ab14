// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Executes float ADD, SUB, MUL, MAXIMUM, MINIMUM and LESS over equal shapes, and IF and WHILE.
 * Written for tests: it shares nothing with the runtime.
 */
final class TinyInterpreter {
  private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private final Model model;

  TinyInterpreter(Model model) {
    this.model = model;
  }

  private record Tensor(float[] values, Shape shape) {}

  private static final class Stop extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final ErrorStatus status;

    Stop(ErrorStatus status, String message) {
      super(message);
      this.status = status;
    }
  }

  ExecutionResult execute(Request request, ExecutionConfig config) {
    try {
      Subgraph main = model.main();
      List<Tensor> inputs = new ArrayList<>();
      for (int i = 0; i < request.inputs().size(); i++) {
        inputs.add(read(request, request.inputs().get(i), main.input(i)));
      }
      List<Tensor> outputs = run(main, inputs, config);
      return write(request, outputs, config);
    } catch (Stop e) {
      return new ExecutionResult.Failed(e.status, e.getMessage());
    }
  }

  private List<Tensor> run(Subgraph graph, List<Tensor> inputs, ExecutionConfig config) {
    Tensor[] values = new Tensor[graph.operands().size()];
    for (int i = 0; i < values.length; i++) {
      Operand operand = graph.operands().get(i);
      if (operand.lifetime() instanceof Constant constant && operand.type().isTensor()) {
        values[i] = decode(constant.bytes(), operand, operand.shape());
      }
    }
    for (int i = 0; i < inputs.size(); i++) {
      values[graph.inputIndexes().get(i)] = inputs.get(i);
    }
    for (Operation operation : graph.operations()) {
      Signal signal = config.control().checkpoint();
      if (signal == Signal.CANCELLED) {
        throw new Stop(ErrorStatus.GENERAL_FAILURE, "asked to stop");
      }
      if (signal == Signal.DEADLINE) {
        throw new Stop(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "late");
      }
      if (operation.type() == OperationCode.IF || operation.type() == OperationCode.WHILE) {
        List<Tensor> results =
            operation.type() == OperationCode.IF
                ? branch(graph, operation, values, config)
                : loop(graph, operation, values, config);
        for (int i = 0; i < operation.outputs().size(); i++) {
          values[operation.outputs().get(i)] = results.get(i);
        }
      } else {
        values[operation.outputs().get(0)] = compute(graph, operation, values);
      }
    }
    return graph.outputIndexes().stream().map(index -> values[index]).toList();
  }

  private List<Tensor> branch(
      Subgraph graph, Operation operation, Tensor[] values, ExecutionConfig config) {
    boolean isThen = values[operation.inputs().get(0)].values[0] != 0;
    return run(
        referenced(graph, operation, isThen ? 1 : 2), arguments(operation, 3, values), config);
  }

  private List<Tensor> loop(
      Subgraph graph, Operation operation, Tensor[] values, ExecutionConfig config) {
    List<Tensor> state = new ArrayList<>(arguments(operation, 2, values));
    while (run(referenced(graph, operation, 0), state, config).get(0).values[0] != 0) {
      List<Tensor> next = run(referenced(graph, operation, 1), state, config);
      for (int i = 0; i < next.size(); i++) {
        state.set(i, next.get(i));
      }
    }
    return state;
  }

  private static List<Tensor> arguments(Operation operation, int first, Tensor[] values) {
    return operation.inputs().stream().skip(first).map(index -> values[index]).toList();
  }

  private Subgraph referenced(Subgraph graph, Operation operation, int input) {
    Operand operand = graph.operands().get(operation.inputs().get(input));
    return model.referenced().get(((SubgraphReference) operand.lifetime()).index());
  }

  private static Tensor compute(Subgraph graph, Operation operation, Tensor[] values) {
    Tensor a = values[operation.inputs().get(0)];
    Tensor b = values[operation.inputs().get(1)];
    if (a == null || b == null) {
      throw new Stop(ErrorStatus.INVALID_ARGUMENT, "an input is left out");
    }
    if (a.values.length != b.values.length) {
      throw new Stop(ErrorStatus.INVALID_ARGUMENT, a.shape + " and " + b.shape + " differ");
    }
    int activation = activation(graph, operation);
    float[] result = new float[a.values.length];
    for (int i = 0; i < result.length; i++) {
      float x = a.values[i];
      float y = b.values[i];
      float raw =
          switch ((OperationCode) operation.type()) {
            case ADD -> x + y;
            case SUB -> x - y;
            case MUL -> x * y;
            case MAXIMUM -> Math.max(x, y);
            case MINIMUM -> Math.min(x, y);
            case LESS -> x < y ? 1 : 0;
            default -> throw new Stop(ErrorStatus.INVALID_ARGUMENT, "unknown " + operation.type());
          };
      result[i] =
          switch (activation) {
            case 1 -> Math.max(0, raw);
            case 2 -> Math.max(-1, Math.min(1, raw));
            case 3 -> Math.max(0, Math.min(6, raw));
            default -> raw;
          };
    }
    return new Tensor(result, a.shape);
  }

  static int activation(Subgraph graph, Operation operation) {
    if (operation.inputs().size() < 3) {
      return 0;
    }
    Operand operand = graph.operands().get(operation.inputs().get(2));
    return ((Constant) operand.lifetime()).bytes().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
  }

  private static Tensor read(Request request, Request.Argument argument, Operand operand) {
    MemorySegment bytes = segment(request, argument);
    if (bytes == null) {
      return null;
    }
    Shape given =
        argument instanceof Request.Pointer pointer
            ? pointer.shape()
            : ((Request.Location) argument).shape();
    Shape shape = operand.isSizeKnown() ? operand.shape() : given;
    if (shape.elementCount() * operand.type().elementSize() != bytes.byteSize()) {
      throw new Stop(ErrorStatus.INVALID_ARGUMENT, "an input is not as long as its shape says");
    }
    return decode(bytes, operand, shape);
  }

  /** Returns the bytes of an argument; null where it has no value. */
  static MemorySegment segment(Request request, Request.Argument argument) {
    return switch (argument) {
      case Request.NoValue _ -> null;
      case Request.Pointer pointer -> pointer.segment();
      case Request.Location place -> {
        MemoryPool.Shared pool = (MemoryPool.Shared) request.pools().get(place.pool());
        yield pool.memory().segment().asSlice(place.offset(), place.length());
      }
    };
  }

  private static Tensor decode(MemorySegment bytes, Operand operand, Shape shape) {
    float[] values = new float[(int) shape.elementCount()];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          operand.type().elementSize() == 1
              ? bytes.get(ValueLayout.JAVA_BYTE, i)
              : bytes.get(FLOAT, 4L * i);
    }
    return new Tensor(values, shape);
  }

  private ExecutionResult write(Request request, List<Tensor> outputs, ExecutionConfig config) {
    List<OutputShape> shapes = new ArrayList<>();
    boolean isSufficient = true;
    for (int i = 0; i < outputs.size(); i++) {
      int elementSize = model.main().output(i).type().elementSize();
      long needed = (long) outputs.get(i).values.length * elementSize;
      MemorySegment to = segment(request, request.outputs().get(i));
      long room = to != null ? to.byteSize() : needed;
      shapes.add(new OutputShape(outputs.get(i).shape, room >= needed));
      isSufficient &= room >= needed;
    }
    if (!isSufficient) {
      return new ExecutionResult.OutputInsufficientSize(shapes);
    }
    for (int i = 0; i < outputs.size(); i++) {
      MemorySegment to = segment(request, request.outputs().get(i));
      if (to != null) {
        float[] values = outputs.get(i).values;
        for (int k = 0; k < values.length; k++) {
          if (model.main().output(i).type().elementSize() == 1) {
            to.set(ValueLayout.JAVA_BYTE, k, (byte) values[k]);
          } else {
            to.set(FLOAT, 4L * k, values[k]);
          }
        }
      }
    }
    Timing timing =
        config.measureTiming()
            ? Timing.of(Duration.ofNanos(10), Duration.ofNanos(20))
            : Timing.NONE;
    return new ExecutionResult.Completed(shapes, timing);
  }
}
