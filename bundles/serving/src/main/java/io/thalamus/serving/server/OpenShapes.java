// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The dimensions of a model's inputs and outputs, 0 for those that its file leaves open. Immutable.
 *
 * @param inputs in the order of the model
 * @param outputs in the order of the model
 */
record OpenShapes(List<Shape> inputs, List<Shape> outputs) {
  OpenShapes {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /**
   * Returns those of a model that was read. A file says which dimensions of inputs are open; those
   * of outputs are the ones that change when it is read again with others.
   *
   * @param states of which none may change its size: then all is fixed as it was read
   */
  static OpenShapes of(LoadedModel loaded, Map<String, String> states) {
    Subgraph graph = loaded.model().main();
    List<Shape> outputs =
        shapes(graph.outputIndexes().stream().map(graph.operands()::get).toList());
    List<Shape> inputs = shapes(graph.inputIndexes().stream().map(graph.operands()::get).toList());
    if (loaded.file().openInputs().isEmpty() || !states.isEmpty()) {
      return new OpenShapes(inputs, outputs);
    }
    List<Shape> open = new ArrayList<>(inputs);
    loaded.file().openInputs().forEach(open::set);
    // Not every model takes another size of a picture, but nearly each another batch.
    for (int most : new int[] {Integer.MAX_VALUE, 1}) {
      List<Shape> other = new ArrayList<>();
      for (int i = 0; i < open.size(); i++) {
        other.add(larger(inputs.get(i), open.get(i), most));
      }
      Map<String, Shape> wanted = loaded.file().shapesFor(other);
      if (wanted.isEmpty()) {
        continue;
      }
      try (LoadedModel changed = loaded.with(loaded.options().withShapes(wanted))) {
        return new OpenShapes(open, changing(outputs, changed.model().main()));
      } catch (NeuralNetworksException e) {
        // A request of such dimensions is informed why.
      }
    }
    // The file was written for one batch, whatever it says.
    for (int i = 0; i < open.size(); i++) {
      if (open.get(i).rank() > 0) {
        open.set(i, open.get(i).with(0, inputs.get(i).dimension(0)));
      }
    }
    return new OpenShapes(open, outputs);
  }

  private static List<Shape> shapes(List<Operand> operands) {
    return operands.stream().map(Operand::shape).toList();
  }

  /** Returns a shape with one more along each of the first dimensions that are open. */
  private static Shape larger(Shape shape, Shape open, int most) {
    Shape larger = shape;
    for (int i = 0; i < Math.min(most, open.rank()); i++) {
      larger = open.dimension(i) == 0 ? larger.with(i, shape.dimension(i) + 1) : larger;
    }
    return larger;
  }

  private static List<Shape> changing(List<Shape> outputs, Subgraph changed) {
    List<Shape> open = new ArrayList<>();
    for (int i = 0; i < outputs.size(); i++) {
      Shape shape = outputs.get(i);
      Shape other = changed.output(i).shape();
      for (int d = 0; d < shape.rank() && other.rank() == shape.rank(); d++) {
        shape = shape.dimension(d) == other.dimension(d) ? shape : shape.with(d, 0);
      }
      open.add(shape);
    }
    return open;
  }
}
