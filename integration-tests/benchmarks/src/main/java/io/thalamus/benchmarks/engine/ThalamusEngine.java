// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.engine;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Thalamus as an application uses it: the product's bundles in a framework, one device bundle and
 * the CPU device for what that does not claim, inputs and outputs in shared memory.
 */
final class ThalamusEngine implements Engine {
  /** Where the distribution lies; set by {@code integration-tests/run}. */
  static final String HOME = "thalamus.home";

  private final String device;

  ThalamusEngine(String device) {
    this.device = device;
  }

  @Override
  public String name() {
    return device;
  }

  @Override
  public String format() {
    return "tflite";
  }

  @Override
  public Session open(Path file, List<byte[]> inputs, int threads) throws Exception {
    Container container =
        Container.start(
            Path.of(System.getProperty(HOME)), Set.copyOf(List.of("cpu", device)), threads);
    NeuralNetworks networks = container.service(NeuralNetworks.class, "(objectClass=*)");
    LoadedModel model = networks.load(file);
    Compilation compilation = networks.compile(model.model(), CompilationOptions.DEFAULT);
    return new Running(container, model, compilation, inputs);
  }

  private static final class Running implements Session {
    private final Container container;
    private final LoadedModel model;
    private final Compilation compilation;
    private final List<SharedMemory> inputs = new ArrayList<>();
    private final List<SharedMemory> outputs = new ArrayList<>();
    private ExecutionReport report;

    Running(
        Container container, LoadedModel model, Compilation compilation, List<byte[]> inputBytes)
        throws Exception {
      this.container = container;
      this.model = model;
      this.compilation = compilation;
      for (byte[] bytes : inputBytes) {
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory.segment(), 0, bytes.length);
        inputs.add(memory);
      }
      Subgraph main = model.model().main();
      for (int i = 0; i < main.outputIndexes().size(); i++) {
        outputs.add(SharedMemory.allocate(MemoryKind.ASHMEM, main.output(i).byteSize()));
      }
    }

    @Override
    public void run() throws Exception {
      Execution execution = compilation.createExecution();
      for (int i = 0; i < inputs.size(); i++) {
        SharedMemory memory = inputs.get(i);
        execution.setInput(i, memory, 0, memory.size(), Shape.NONE);
      }
      for (int i = 0; i < outputs.size(); i++) {
        SharedMemory memory = outputs.get(i);
        execution.setOutput(i, memory, 0, memory.size(), Shape.NONE);
      }
      report = execution.compute().orThrow();
    }

    @Override
    public List<byte[]> outputs() {
      List<byte[]> all = new ArrayList<>();
      for (SharedMemory memory : outputs) {
        all.add(memory.segment().toArray(ValueLayout.JAVA_BYTE));
      }
      return all;
    }

    @Override
    public String note() {
      return report.steps().stream()
          .map(step -> step.operations() + " on " + step.device())
          .collect(Collectors.joining(", "));
    }

    @Override
    public void close() {
      compilation.close();
      model.close();
      container.close();
      inputs.forEach(SharedMemory::close);
      outputs.forEach(SharedMemory::close);
    }
  }
}
