// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A model of quantized types with inputs, and the outputs that the CPU device gives for them:
 * whatever runs it later must give the same bytes. Thread-safe; owns the model.
 */
public final class Workload implements AutoCloseable {
  private static final int REQUESTS = 3;

  private final NeuralNetworks networks;
  private final Model model;
  private final Runnable onClose;
  private final List<List<byte[]>> inputs;
  private final List<List<byte[]>> expected = new ArrayList<>();

  /** The end of one request. */
  public record Answer(ExecutionReport report, boolean isRight) {
    /** Returns true if a step of the execution succeeded on a device. */
    public boolean ranOn(String device) {
      return report.steps().stream()
          .anyMatch(step -> step.device().equals(device) && step.code() == ResultCode.NO_ERROR);
    }
  }

  /**
   * Loads a model and asks the CPU device for the outputs.
   *
   * @param inputs of several requests
   */
  public Workload(NeuralNetworks networks, Path file, List<List<byte[]>> inputs)
      throws NeuralNetworksException {
    this(networks, networks.load(file), inputs);
  }

  private Workload(NeuralNetworks networks, LoadedModel loaded, List<List<byte[]>> inputs)
      throws NeuralNetworksException {
    this(
        networks,
        loaded.model(),
        inputs.isEmpty() ? noise(loaded.model().main(), REQUESTS) : List.copyOf(inputs),
        loaded::close);
  }

  /** Asks the CPU device for the output of a convolution, for one request. */
  Workload(NeuralNetworks networks, LongConvolution convolution) throws NeuralNetworksException {
    this(networks, convolution.model(), noise(convolution.model().main(), 1), convolution::close);
  }

  private Workload(
      NeuralNetworks networks, Model model, List<List<byte[]>> inputs, Runnable onClose)
      throws NeuralNetworksException {
    this.networks = networks;
    this.model = model;
    this.inputs = inputs;
    this.onClose = onClose;
    try (Compilation compilation =
        compile(CompilationOptions.DEFAULT.withDevices(List.of("cpu")))) {
      for (List<byte[]> request : this.inputs) {
        List<byte[]> outputs = buffers();
        execution(compilation, request, outputs).compute().orThrow();
        expected.add(outputs);
      }
    }
  }

  /** Noise of a seed for so many requests. */
  private static List<List<byte[]>> noise(Subgraph graph, int count) {
    SplittableRandom random = new SplittableRandom(1);
    List<List<byte[]>> requests = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      List<byte[]> request = new ArrayList<>();
      for (int k = 0; k < graph.inputIndexes().size(); k++) {
        Operand operand = graph.input(k);
        byte[] bytes = new byte[Math.toIntExact(operand.byteSize())];
        if (operand.type() == OperandCode.TENSOR_FLOAT32) {
          ByteBuffer floats = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
          while (floats.hasRemaining()) {
            floats.putFloat((float) random.nextDouble(-1, 1));
          }
        } else {
          random.nextBytes(bytes);
        }
        request.add(bytes);
      }
      requests.add(request);
    }
    return requests;
  }

  /** The model that runs. */
  public Model model() {
    return model;
  }

  /** The model, prepared; closed by the caller. */
  public Compilation compile(CompilationOptions options) throws NeuralNetworksException {
    return networks.compile(model, options);
  }

  /** Returns the number of different requests. */
  public int requests() {
    return inputs.size();
  }

  /** Returns the answer of the CPU device to a request. */
  public List<byte[]> expected(int request) {
    return expected.get(request % expected.size());
  }

  /** Executes a request in this thread. */
  public Answer run(Compilation compilation, int request) {
    List<byte[]> outputs = buffers();
    ExecutionReport report = execution(compilation, input(request), outputs).compute();
    return new Answer(report, report.isSuccess() && isRight(request, outputs));
  }

  /** The inputs of a request. */
  public List<byte[]> input(int request) {
    return inputs.get(request % inputs.size());
  }

  /** Returns true if the outputs of a request are those of the CPU device. */
  public boolean isRight(int request, List<byte[]> outputs) {
    List<byte[]> right = expected(request);
    for (int i = 0; i < right.size(); i++) {
      if (!Arrays.equals(right.get(i), outputs.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Room for the outputs. */
  public List<byte[]> buffers() {
    Subgraph graph = model.main();
    List<byte[]> outputs = new ArrayList<>();
    for (int i = 0; i < graph.outputIndexes().size(); i++) {
      outputs.add(new byte[Math.toIntExact(graph.output(i).byteSize())]);
    }
    return outputs;
  }

  /** An execution that reads and writes these. */
  public Execution execution(Compilation compilation, List<byte[]> request, List<byte[]> outputs) {
    Execution execution = compilation.createExecution();
    for (int i = 0; i < request.size(); i++) {
      execution.setInput(i, MemorySegment.ofArray(request.get(i)));
    }
    for (int i = 0; i < outputs.size(); i++) {
      execution.setOutput(i, MemorySegment.ofArray(outputs.get(i)));
    }
    return execution;
  }

  @Override
  public void close() {
    onClose.run();
  }
}
