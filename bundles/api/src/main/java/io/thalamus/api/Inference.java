// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Executions of a compilation, one after another, in the same buffers: {@link Compilation#run} for
 * a caller that executes many times. An output whose size only the execution finds out gets a
 * larger buffer, and the execution is repeated. All runs start one {@linkplain
 * Execution#setReusable reusable} execution, so that the room which a refused one was promised is
 * there for the next run, and inputs that are the same tensors again are not checked again.
 *
 * <p>Used by one thread at a time. An answer's tensors are overwritten by the next execution. The
 * buffers and the last inputs go with this object and the tensors; the compilation stays the
 * caller's.
 */
public final class Inference {
  /** Bytes for an output whose size is not known yet. */
  private static final long FIRST_GUESS = 1 << 16;

  private static final int MOST_TRIES = 4;

  private final Compilation compilation;
  private final Function<Execution, ExecutionReport> way;
  private final Subgraph main;
  private final MemorySegment[] buffers;

  /** The inputs that are set; null where none is. */
  private final Tensor[] given;

  /** Null before the first run, and after one that did not report. */
  private Execution execution;

  /** The shapes of the last outputs, and the outputs; null if a buffer is another one since. */
  private List<OutputShape> shapes;

  private List<Tensor> outputs;

  /** Executions in the calling thread, by {@link Execution#compute}. */
  public Inference(Compilation compilation) {
    this(compilation, Execution::compute);
  }

  /**
   * Executions of another kind.
   *
   * @param way sets what else an execution needs, starts it and waits for its end; called with the
   *     same execution each time
   */
  public Inference(Compilation compilation, Function<Execution, ExecutionReport> way) {
    this.compilation = Objects.requireNonNull(compilation, "compilation");
    this.way = Objects.requireNonNull(way, "way");
    this.main = compilation.model().main();
    this.buffers = new MemorySegment[main.outputIndexes().size()];
    this.given = new Tensor[main.inputIndexes().size()];
  }

  /**
   * Executes once.
   *
   * @param inputs one for each input of the model, in its order
   * @throws NeuralNetworksException with BAD_DATA if an input is missing or does not fit; else with
   *     the report's code and message
   */
  public Answer run(List<Tensor> inputs) throws NeuralNetworksException {
    check(inputs);
    for (int attempt = 1; ; attempt++) {
      Execution started = prepare(inputs);
      execution = null;
      ExecutionReport report = way.apply(started);
      execution = started;
      if (report.code() == ResultCode.OUTPUT_INSUFFICIENT_SIZE && attempt < MOST_TRIES) {
        grow(report.outputs());
      } else {
        return new Answer(outputs(report.orThrow()), report, List.of());
      }
    }
  }

  /**
   * Executes once.
   *
   * @param inputs by their names in the model
   * @throws NeuralNetworksException as {@link #run(List)}, and with BAD_DATA if a name is unknown
   */
  public Answer run(Map<String, Tensor> inputs) throws NeuralNetworksException {
    Map<String, Tensor> left = new HashMap<>(inputs);
    List<Tensor> ordered = new ArrayList<>();
    for (int i = 0; i < main.inputIndexes().size(); i++) {
      ordered.add(left.remove(main.input(i).name()));
    }
    if (!left.isEmpty()) {
      throw NeuralNetworksException.badData(
          "no input is named " + String.join(", ", left.keySet()) + "; the model has " + wanted());
    }
    int missing = ordered.indexOf(null);
    if (missing >= 0) {
      throw missing(main.input(missing));
    }
    return run(ordered);
  }

  static NeuralNetworksException missing(Operand input) {
    return NeuralNetworksException.badData("input " + input.text() + " is missing");
  }

  private void check(List<Tensor> inputs) throws NeuralNetworksException {
    int wanted = main.inputIndexes().size();
    if (inputs.size() != wanted) {
      throw NeuralNetworksException.badData(
          "the model has %s input%s (%s), %s given"
              .formatted(wanted, wanted == 1 ? "" : "s", wanted(), inputs.size()));
    }
    for (int i = 0; i < wanted; i++) {
      Tensor input = inputs.get(i);
      Operand operand = main.input(i);
      if (input == null) {
        throw missing(operand);
      }
      if (input == given[i]) {
        continue;
      }
      boolean fits =
          operand.type().equals(input.type())
              && operand.quantization().equals(input.quantization())
              && operand.shape().combine(input.shape()).isPresent();
      if (!fits) {
        boolean isSame =
            operand.type().equals(input.type())
                && operand.shape().combine(input.shape()).isPresent();
        throw NeuralNetworksException.badData(
            "input %s is %s, not %s %s%s"
                .formatted(
                    i,
                    operand.text(),
                    input.type().text(),
                    input.shape(),
                    isSame ? " with another quantization" : ""));
      }
    }
  }

  private String wanted() {
    return main.inputIndexes().stream()
        .map(index -> main.operands().get(index).text())
        .collect(Collectors.joining(", "));
  }

  private Execution prepare(List<Tensor> inputs) {
    boolean isNew = execution == null;
    if (isNew) {
      execution = compilation.createExecution().setReusable(true);
    }
    for (int i = 0; i < given.length; i++) {
      Tensor input = inputs.get(i);
      if (isNew || input != given[i]) {
        set(i, input);
      }
    }
    for (int i = 0; i < buffers.length; i++) {
      boolean isMissing = buffers[i] == null;
      if (isMissing) {
        Operand output = main.output(i);
        buffers[i] = TensorMemory.allocate(output.isSizeKnown() ? output.byteSize() : FIRST_GUESS);
      }
      if (isNew || isMissing) {
        execution.setOutput(i, buffers[i]);
      }
    }
    return execution;
  }

  private void set(int index, Tensor input) {
    Shape shape = main.input(index).isSizeKnown() ? Shape.NONE : input.shape();
    if (input.memory() != null) {
      execution.setInput(index, input.memory(), 0, input.memory().size(), shape);
    } else {
      execution.setInput(index, input.segment(), shape);
    }
    given[index] = input;
  }

  private void grow(List<OutputShape> needs) {
    for (int i = 0; i < buffers.length && i < needs.size(); i++) {
      if (!needs.get(i).isSufficient()) {
        long needed = Tensor.byteSize(main.output(i), needs.get(i).shape());
        buffers[i] = TensorMemory.allocate(Math.max(2 * buffers[i].byteSize(), needed));
        execution.setOutput(i, buffers[i]);
        shapes = null;
      }
    }
  }

  /** Returns the buffers as values; the last ones again where they have the same shapes. */
  private List<Tensor> outputs(ExecutionReport report) {
    if (shapes == null || !shapes.equals(report.outputs())) {
      Tensor[] values = new Tensor[buffers.length];
      for (int i = 0; i < values.length; i++) {
        Operand output = main.output(i);
        Shape shape =
            i < report.outputs().size() ? report.outputs().get(i).shape() : output.shape();
        values[i] = Tensor.prefix(output, shape, buffers[i]);
      }
      outputs = List.of(values);
      shapes = report.outputs();
    }
    return outputs;
  }
}
