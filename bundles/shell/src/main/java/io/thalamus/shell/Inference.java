// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Executes a compilation and collects its outputs. Used by one thread. */
final class Inference {
  /** Bytes for an output whose size only the execution finds out; asked for again where too few. */
  private static final int FIRST_GUESS = 1 << 16;

  private static final int MOST_TRIES = 4;

  private final Compilation compilation;
  private final List<Tensor> inputs;
  private final Optional<Duration> timeout;
  private final Subgraph main;

  /**
   * What came out.
   *
   * @param outputs one for each output
   * @param report of the last execution
   * @param nanos how long each execution took, sorted
   */
  record Outcome(List<Tensor> outputs, ExecutionReport report, long[] nanos) {
    /** The time in the middle. */
    long median() {
      return nanos[nanos.length / 2];
    }
  }

  Inference(Compilation compilation, List<Tensor> inputs, Optional<Duration> timeout) {
    this.compilation = compilation;
    this.inputs = inputs;
    this.timeout = timeout;
    this.main = compilation.model().main();
  }

  /**
   * Executes a number of times.
   *
   * @throws CommandException where one execution fails
   */
  Outcome run(int times) throws CommandException {
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
      byte[][] buffers = new byte[sizes.length][];
      for (int i = 0; i < sizes.length; i++) {
        buffers[i] = buffer(sizes[i]);
      }
      Execution execution = prepare(buffers);
      long start = System.nanoTime();
      ExecutionReport report = execution.compute();
      long nanos = System.nanoTime() - start;
      if (report.code() == ResultCode.OUTPUT_INSUFFICIENT_SIZE && attempt < MOST_TRIES) {
        grow(sizes, report.outputs());
        continue;
      }
      if (!report.isSuccess()) {
        throw new CommandException(report.code() + ": " + report.message());
      }
      return new Outcome(outputs(buffers, report), report, new long[] {nanos});
    }
  }

  private static byte[] buffer(long size) throws CommandException {
    if (size > Integer.MAX_VALUE - Long.BYTES) {
      throw new CommandException("an output is larger than 2 GiB");
    }
    return new byte[(int) size];
  }

  private Execution prepare(byte[][] buffers) {
    Execution execution = compilation.createExecution();
    for (int i = 0; i < inputs.size(); i++) {
      Operand input = main.input(i);
      Shape shape = input.isSizeKnown() ? Shape.NONE : inputs.get(i).shape();
      execution.setInput(i, inputs.get(i).data(), shape);
    }
    for (int i = 0; i < buffers.length; i++) {
      execution.setOutput(i, java.lang.foreign.MemorySegment.ofArray(buffers[i]));
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

  private List<Tensor> outputs(byte[][] buffers, ExecutionReport report) {
    List<Tensor> outputs = new ArrayList<>();
    for (int i = 0; i < buffers.length; i++) {
      Operand output = main.output(i);
      Shape shape = i < report.outputs().size() ? report.outputs().get(i).shape() : output.shape();
      long elements = output.type().isTensor() ? shape.elementCount() : 1;
      int bytes = Math.toIntExact(elements * output.type().elementSize());
      outputs.add(Tensor.of(output, shape, Arrays.copyOf(buffers[i], bytes)));
    }
    return outputs;
  }
}
