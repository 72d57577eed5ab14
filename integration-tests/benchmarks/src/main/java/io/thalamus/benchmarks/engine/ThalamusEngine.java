// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.engine;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.Device;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Priority;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Thalamus: the product's bundles in a framework, one device bundle and the CPU device for what
 * that does not claim, inputs and outputs in shared memory.
 *
 * @param device the short name
 * @param way how the device is reached
 * @param format of the files that it reads
 */
record ThalamusEngine(String device, Way way, String format) implements Engine {
  /** The folder of the distribution; set by {@code integration-tests/run}. */
  static final String HOME = "thalamus.home";

  private static final String TFLITE = "tflite";

  ThalamusEngine(String device, Way way) {
    this(device, way, TFLITE);
  }

  @Override
  public String name() {
    return device + way.suffix() + (format.equals(TFLITE) ? "" : "-" + format);
  }

  @Override
  public Host start(int threads) throws Exception {
    Container container =
        Container.start(
            Path.of(System.getProperty(HOME)),
            Set.copyOf(List.of("cpu", device)),
            way.isIsolated() ? Set.of(device) : Set.of(),
            threads);
    // One that has a process of its own is not there at once.
    container.service(Device.class, "(thalamus.device=" + device + ")");
    return new Host() {
      @Override
      public Session open(Path file, List<byte[]> inputs, Priority priority) throws Exception {
        return ThalamusEngine.this.open(container, file, inputs, priority);
      }

      @Override
      public void close() {
        container.close();
      }
    };
  }

  private Session open(Container container, Path file, List<byte[]> inputs, Priority priority)
      throws Exception {
    LoadedModel model = container.service(NeuralNetworks.class, "(objectClass=*)").load(file);
    Subgraph main = model.model().main();
    Way.Tensors tensors = new Way.Tensors(new ArrayList<>(), new ArrayList<>());
    for (byte[] bytes : inputs) {
      SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length);
      MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory.segment(), 0, bytes.length);
      tensors.inputs().add(memory);
    }
    for (int i = 0; i < main.outputIndexes().size(); i++) {
      tensors.outputs().add(SharedMemory.allocate(MemoryKind.ASHMEM, main.output(i).byteSize()));
    }
    Way.Running running =
        way.open(
            container, device, model.model(), tensors, CompilationOptions.DEFAULT.with(priority));
    return new Session() {
      @Override
      public void run() throws Exception {
        running.run();
      }

      @Override
      public List<byte[]> outputs() {
        return tensors.outputs().stream()
            .map(memory -> memory.segment().toArray(ValueLayout.JAVA_BYTE))
            .toList();
      }

      @Override
      public String note() {
        return running.note();
      }

      @Override
      public void close() {
        running.close();
        model.close();
        tensors.inputs().forEach(SharedMemory::close);
        tensors.outputs().forEach(SharedMemory::close);
      }
    };
  }
}
