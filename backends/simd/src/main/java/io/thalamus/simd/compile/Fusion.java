// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Activation.Range;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.simd.kernel.Clamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Puts float additions and activations into the operation whose result they are applied to, where
 * nobody else reads that result.
 */
public final class Fusion {
  private final Node[] nodes;

  /** By operand, the index of the node that writes it; -1 for inputs and constants. */
  private final int[] writers;

  private final int[] readers;

  private Fusion(StaticGraph graph, List<Node> nodes) {
    this.nodes = nodes.toArray(new Node[0]);
    writers = new int[graph.shapes().size()];
    readers = new int[graph.shapes().size()];
    Arrays.fill(writers, -1);
    for (int i = 0; i < this.nodes.length; i++) {
      for (int output : this.nodes[i].outputs()) {
        writers[output] = i;
      }
      this.nodes[i].inputs().forEach(input -> readers[input]++);
    }
    graph.graph().outputIndexes().forEach(output -> readers[output]++);
  }

  /** The nodes that are left, in an order in which they can run. */
  static List<Node> fuse(StaticGraph graph, List<Node> nodes) {
    Fusion fusion = new Fusion(graph, nodes);
    List<Node> left = new ArrayList<>();
    for (int i = 0; i < fusion.nodes.length; i++) {
      fusion.tryFuse(i);
    }
    for (Node node : fusion.nodes) {
      if (node != null) {
        left.add(node);
      }
    }
    return left;
  }

  private void tryFuse(int index) {
    Node node = nodes[index];
    ResolvedOperation operation = node.operation();
    if (operation.parameters() instanceof Range range && range.stored().isEmpty()) {
      activation(range)
          .ifPresent(
              activation -> {
                int writer = soleWriter(node.inputs().get(0));
                if (writer >= 0 && nodes[writer].takesActivation()) {
                  replace(writer, nodes[writer].then(activation, node.output()), index);
                }
              });
    } else if (operation.view().type() == OperationCode.ADD
        && operation.parameters() instanceof Plain plain
        && Clamp.isPossible(plain.activation())
        && operation.view().output().type() == OperandCode.TENSOR_FLOAT32
        && operation.inputShape(0).equals(operation.outputShape(0))
        && operation.inputShape(1).equals(operation.outputShape(0))) {
      int first = node.inputs().get(0);
      int second = node.inputs().get(1);
      // The later one: what is added to it must have been computed before.
      boolean intoFirst = writers[first] > writers[second];
      int sum = intoFirst ? first : second;
      int other = intoFirst ? second : first;
      int writer = soleWriter(sum);
      if (first != second && writer >= 0 && nodes[writer].takesAddition()) {
        replace(writer, nodes[writer].plus(other, plain.activation(), node.output()), index);
      }
    }
  }

  private static Optional<FusedActivation> activation(Range range) {
    return Set.of(FusedActivation.RELU, FusedActivation.RELU6).stream()
        .filter(activation -> activation.range().equals(range.real()))
        .findFirst();
  }

  /** The node that writes an operand that has one reader; -1 where there is none. */
  private int soleWriter(int operand) {
    return readers[operand] == 1 ? writers[operand] : -1;
  }

  private void replace(int writer, Node fused, int swallowed) {
    nodes[writer] = fused;
    nodes[swallowed] = null;
    writers[fused.output()] = writer;
  }
}
