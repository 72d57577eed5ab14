// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.IfOptions;
import org.tensorflow.lite.schema.WhileOptions;

/** IF and WHILE, whose bodies are graphs of the same file. */
final class ControlFlow {
  private ControlFlow() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.IF, ControlFlow::branch);
    table.add(BuiltinOperator.WHILE, ControlFlow::loop);
  }

  private static void branch(Node node) throws ModelFormatException {
    IfOptions options = node.options(new IfOptions());
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.in(0));
    inputs.add(graph(node, node.get(options::thenSubgraphIndex)));
    inputs.add(graph(node, node.get(options::elseSubgraphIndex)));
    inputs.addAll(node.insFrom(1));
    node.emit(OperationCode.IF, inputs, node.outs());
  }

  /** All values of a loop go round: as many inputs as outputs. */
  private static void loop(Node node) throws ModelFormatException {
    WhileOptions options = node.options(new WhileOptions());
    List<Integer> inputs = new ArrayList<>();
    inputs.add(graph(node, node.get(options::condSubgraphIndex)));
    inputs.add(graph(node, node.get(options::bodySubgraphIndex)));
    inputs.addAll(node.insFrom(0));
    node.emit(OperationCode.WHILE, inputs, node.outs());
  }

  private static int graph(Node node, int index) throws ModelFormatException {
    int reference = node.model().reference(index);
    return node.builder()
        .operand(
            new Operand(
                OperandCode.SUBGRAPH,
                Shape.NONE,
                Quantization.NONE,
                new SubgraphReference(reference),
                ""));
  }
}
