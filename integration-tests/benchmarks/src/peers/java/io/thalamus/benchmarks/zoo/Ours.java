// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Inference;
import io.thalamus.api.Network;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.benchmarks.engine.Container;
import io.thalamus.hal.Device;
import io.thalamus.model.Elements;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ReadOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Thalamus with the devices of its distribution that are not simulated. */
final class Ours implements Peer, AutoCloseable {
  /** The folder of the distribution; set by {@code integration-tests/run}. */
  private static final String HOME = "thalamus.home";

  private final Container container;
  private final NeuralNetworks networks;
  private String note = "";

  private Ours(Container container, NeuralNetworks networks) {
    this.container = container;
    this.networks = networks;
  }

  static Ours start(Set<String> devices) throws Exception {
    Container container = Container.start(Path.of(System.getProperty(HOME)), devices, Set.of(), 1);
    for (String device : devices) {
      container.service(Device.class, "(thalamus.device=" + device + ")");
    }
    return new Ours(container, container.service(NeuralNetworks.class, "(objectClass=*)"));
  }

  @Override
  public String name() {
    return "thalamus";
  }

  /**
   * Returns the inputs as the file has them, without states that have first values; open dimensions
   * are 0.
   *
   * @param shapes of those that have others than the file states
   */
  List<Operand> inputs(Path file, Map<String, Shape> shapes) throws Exception {
    try (var model = networks.load(file, ReadOptions.DEFAULT.withShapes(shapes))) {
      List<Operand> inputs = new ArrayList<>();
      for (int i = 0; i < model.file().neededInputs(); i++) {
        inputs.add(model.file().input(i));
      }
      return inputs;
    }
  }

  @Override
  public Loaded load(Path file, List<Input> inputs) throws Exception {
    Map<String, Shape> open = new HashMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).isOpen()) {
        open.put(inputs.get(i).name(), inputs.get(i).shape());
      }
    }
    Network network =
        Network.open(
            networks, file, ReadOptions.DEFAULT.withShapes(open), CompilationOptions.DEFAULT);
    List<String> left =
        network.compilation().plan().operations().stream()
            .filter(operation -> operation.device().equals("cpu"))
            .map(operation -> operation.type().text())
            .toList();
    note = left.size() + "/" + network.compilation().plan().operations().size();
    if (!left.isEmpty()) {
      note += " (" + String.join(" ", new TreeSet<>(left)) + ")";
    }
    return new Loaded() {
      /** In the same buffers again, as the peers' interpreters execute. */
      private final Inference inference = new Inference(network.compilation());

      /** Their first values; what they become is no output of the peers'. */
      private final List<Tensor> states = states(network);

      private List<Tensor> given = List.of();

      @Override
      public List<Value> run(List<double[]> numbers) throws Exception {
        List<Tensor> tensors = new ArrayList<>();
        int needed = network.inputs().size() - states.size();
        for (Operand operand : network.inputs().subList(0, needed)) {
          double[] values = numbers.get(Ours.find(inputs, operand.name(), tensors.size()));
          tensors.add(
              Tensor.of(
                  operand, Value.of(Elements.of(operand.type()), operand.shape(), values).bytes()));
        }
        tensors.addAll(states);
        given = tensors;
        List<Tensor> all = network.run(given.toArray(Tensor[]::new)).outputs();
        List<Value> outputs = new ArrayList<>();
        for (Tensor output : all.subList(0, all.size() - states.size())) {
          outputs.add(
              new Value(
                  Elements.of(output.type()),
                  output.shape(),
                  output.toBytes(),
                  output.quantization().scale()));
        }
        return outputs;
      }

      @Override
      public long again() throws Exception {
        long start = System.nanoTime();
        inference.run(given);
        return System.nanoTime() - start;
      }

      @Override
      public void close() {
        network.close();
      }
    };
  }

  private static List<Tensor> states(Network network) throws NeuralNetworksException {
    List<Tensor> states = new ArrayList<>();
    for (int i = network.model().file().neededInputs(); i < network.inputs().size(); i++) {
      states.add(network.firstValue(i).orElseThrow());
    }
    return states;
  }

  private static int find(List<Input> inputs, String name, int otherwise) {
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).name().equals(name)) {
        return i;
      }
    }
    return otherwise;
  }

  /** Returns how many operations of the last model are the reference device's, of how many. */
  String note() {
    return note;
  }

  @Override
  public void close() {
    container.close();
  }
}
