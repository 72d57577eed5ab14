// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.console.CommandException;
import io.thalamus.console.text.Units;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.shell.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The executions of a compilation, whose outputs it collects. Used by one thread. Arguments are off
 * the heap, where devices can use them in place; their memory goes with this object.
 */
public final class Inference {
  /** Bytes for an output whose size only the execution finds out; asked for again where too few. */
  private static final int FIRST_GUESS = 1 << 16;

  private static final int MOST_TRIES = 4;
  private static final long ALIGNMENT = 64;

  private final Compilation compilation;
  private final List<Tensor> inputs;
  private final Optional<Duration> timeout;
  private final Function<Execution, ExecutionReport> way;
  private final Subgraph main;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment[] inputBytes;
  private final MemorySegment[] outputBytes;

  /**
   * The outputs and times.
   *
   * @param outputs one for each output
   * @param report of the last execution
   * @param nanos how long each execution took, sorted
   */
  public record Outcome(List<Tensor> outputs, ExecutionReport report, long[] nanos) {
    /** Returns the time in the middle. */
    public long median() {
      return nanos[nanos.length / 2];
    }
  }

  /** An inference with these inputs, each execution within a time if one is given. */
  public Inference(Compilation compilation, List<Tensor> inputs, Optional<Duration> timeout) {
    this(compilation, inputs, timeout, Execution::compute);
  }

  /**
   * An inference as above.
   *
   * @param way starts an execution and waits for its end
   */
  public Inference(
      Compilation compilation,
      List<Tensor> inputs,
      Optional<Duration> timeout,
      Function<Execution, ExecutionReport> way) {
    this.way = way;
    this.compilation = compilation;
    this.inputs = inputs;
    this.timeout = timeout;
    this.main = compilation.model().main();
    this.outputBytes = new MemorySegment[main.outputIndexes().size()];
    this.inputBytes = new MemorySegment[inputs.size()];
    for (int i = 0; i < inputBytes.length; i++) {
      MemorySegment data = inputs.get(i).data();
      inputBytes[i] = arena.allocate(data.byteSize(), ALIGNMENT).copyFrom(data);
    }
  }

  /**
   * Executes a number of times.
   *
   * @throws CommandException where one execution fails
   */
  public Outcome run(int times) throws CommandException {
    long[] sizes = new long[main.outputIndexes().size()];
    for (int i = 0; i < sizes.length; i++) {
      Operand output = main.output(i);
      sizes[i] = output.isSizeKnown() ? output.byteSize() : FIRST_GUESS;
    }
    long[] nanos = new long[times];
    Outcome last = null;
    for (int i = 0; i < times; i++) {
      last = execute(sizes);
      nanos[i] = last.nanos()[0];
    }
    Arrays.sort(nanos);
    return new Outcome(last.outputs(), last.report(), nanos);
  }

  private Outcome execute(long[] sizes) throws CommandException {
    for (int attempt = 1; ; attempt++) {
      for (int i = 0; i < sizes.length; i++) {
        if (outputBytes[i] == null || outputBytes[i].byteSize() != sizes[i]) {
          outputBytes[i] = buffer(sizes[i]);
        }
      }
      Execution execution = prepare();
      long start = System.nanoTime();
      ExecutionReport report = way.apply(execution);
      long nanos = System.nanoTime() - start;
      if (report.code() == ResultCode.OUTPUT_INSUFFICIENT_SIZE && attempt < MOST_TRIES) {
        grow(sizes, report.outputs());
        continue;
      }
      if (!report.isSuccess()) {
        String later =
            report.retryAfter().map(time -> "; try again in " + Units.time(time)).orElse("");
        throw new CommandException(report.code() + ": " + report.message() + later);
      }
      return new Outcome(outputs(report), report, new long[] {nanos});
    }
  }

  private MemorySegment buffer(long size) throws CommandException {
    if (size > Integer.MAX_VALUE - Long.BYTES) {
      throw new CommandException("an output is larger than 2 GiB");
    }
    return arena.allocate(size, ALIGNMENT);
  }

  private Execution prepare() {
    Execution execution = compilation.createExecution();
    for (int i = 0; i < inputs.size(); i++) {
      Operand input = main.input(i);
      Shape shape = input.isSizeKnown() ? Shape.NONE : inputs.get(i).shape();
      execution.setInput(i, inputBytes[i], shape);
    }
    for (int i = 0; i < outputBytes.length; i++) {
      execution.setOutput(i, outputBytes[i]);
    }
    timeout.ifPresent(execution::setTimeout);
    return execution;
  }

  private void grow(long[] sizes, List<OutputShape> shapes) {
    for (int i = 0; i < sizes.length && i < shapes.size(); i++) {
      if (!shapes.get(i).isSufficient()) {
        long needed = main.output(i).with(shapes.get(i).shape()).byteSize();
        sizes[i] = Math.max(2 * sizes[i], needed);
      }
    }
  }

  private List<Tensor> outputs(ExecutionReport report) {
    List<Tensor> outputs = new ArrayList<>();
    for (int i = 0; i < outputBytes.length; i++) {
      Operand output = main.output(i);
      Shape shape = i < report.outputs().size() ? report.outputs().get(i).shape() : output.shape();
      long elements = output.type().isTensor() ? shape.elementCount() : 1;
      int bytes = Math.toIntExact(elements * output.type().elementSize());
      outputs.add(
          Tensor.of(
              output, shape, outputBytes[i].asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE)));
    }
    return outputs;
  }
}
