// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Executions of a compilation, one after another, in the same buffers: {@link Compilation#run} for
 * a caller that executes many times. An output whose size only the execution finds out gets a
 * larger buffer, and the execution is repeated. After RESOURCE_EXHAUSTED_TRANSIENT the next run
 * starts the same {@link Execution} again, with the room that was promised to it.
 *
 * <p>Used by one thread at a time. An answer's tensors are overwritten by the next execution. The
 * buffers go with this object and the tensors; the compilation stays the caller's.
 */
public final class Inference {
  /** Bytes for an output whose size is not known yet. */
  private static final long FIRST_GUESS = 1 << 16;

  private static final int MOST_TRIES = 4;

  private final Compilation compilation;
  private final Function<Execution, ExecutionReport> way;
  private final Subgraph main;
  private final MemorySegment[] buffers;

  /** The execution of the last run if it may be started again; else null. */
  private Execution refused;

  /** Executions in the calling thread, by {@link Execution#compute}. */
  public Inference(Compilation compilation) {
    this(compilation, Execution::compute);
  }

  /**
   * Executions of another kind.
   *
   * @param way sets what else an execution needs, starts it and waits for its end
   */
  public Inference(Compilation compilation, Function<Execution, ExecutionReport> way) {
    this.compilation = Objects.requireNonNull(compilation, "compilation");
    this.way = Objects.requireNonNull(way, "way");
    this.main = compilation.model().main();
    this.buffers = new MemorySegment[main.outputIndexes().size()];
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
      Execution execution = prepare(inputs);
      ExecutionReport report = way.apply(execution);
      refused = report.code() == ResultCode.RESOURCE_EXHAUSTED_TRANSIENT ? execution : null;
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
      Tensor input = left.remove(main.input(i).name());
      if (input == null) {
        throw NeuralNetworksException.badData("input " + main.input(i).text() + " is missing");
      }
      ordered.add(input);
    }
    if (!left.isEmpty()) {
      throw NeuralNetworksException.badData(
          "no input is named " + String.join(", ", left.keySet()) + "; the model has " + wanted());
    }
    return run(ordered);
  }

  private void check(List<Tensor> inputs) throws NeuralNetworksException {
    int wanted = main.inputIndexes().size();
    if (inputs.size() != wanted) {
      throw NeuralNetworksException.badData(
          "the model has %s input%s (%s), %s given"
              .formatted(wanted, wanted == 1 ? "" : "s", wanted(), inputs.size()));
    }
    for (int i = 0; i < wanted; i++) {
      Operand operand = main.input(i);
      Tensor input = inputs.get(i);
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
    Execution execution = refused != null ? refused : compilation.createExecution();
    for (int i = 0; i < inputs.size(); i++) {
      Tensor input = inputs.get(i);
      Shape shape = main.input(i).isSizeKnown() ? Shape.NONE : input.shape();
      if (input.memory() != null) {
        execution.setInput(i, input.memory(), 0, input.memory().size(), shape);
      } else {
        execution.setInput(i, input.segment(), shape);
      }
    }
    for (int i = 0; i < buffers.length; i++) {
      if (buffers[i] == null) {
        Operand output = main.output(i);
        buffers[i] = TensorMemory.allocate(output.isSizeKnown() ? output.byteSize() : FIRST_GUESS);
      }
      execution.setOutput(i, buffers[i]);
    }
    return execution;
  }

  private void grow(List<OutputShape> shapes) {
    for (int i = 0; i < buffers.length && i < shapes.size(); i++) {
      if (!shapes.get(i).isSufficient()) {
        long needed = Tensor.byteSize(main.output(i), shapes.get(i).shape());
        buffers[i] = TensorMemory.allocate(Math.max(2 * buffers[i].byteSize(), needed));
      }
    }
  }

  private List<Tensor> outputs(ExecutionReport report) {
    Tensor[] outputs = new Tensor[buffers.length];
    for (int i = 0; i < outputs.length; i++) {
      Operand output = main.output(i);
      Shape shape = i < report.outputs().size() ? report.outputs().get(i).shape() : output.shape();
      outputs[i] = Tensor.prefix(output, shape, buffers[i]);
    }
    return Arrays.asList(outputs);
  }
}
