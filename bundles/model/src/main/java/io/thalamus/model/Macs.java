// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.OptionalLong;

/**
 * Multiply-accumulates of convolutions, dense layers, matrix products and recurrent cells, from the
 * dimensions that a model states. Everything else counts nothing. Stateless.
 */
public final class Macs {
  private Macs() {}

  /** The multiply-accumulates of an operation; empty where dimensions that they need are open. */
  public static OptionalLong of(Subgraph graph, Operation operation) {
    if (operation.type() instanceof ExtensionOperationType extension) {
      return extension.name().equals("BATCH_MATMUL")
          ? batchMatmul(graph, operation)
          : OptionalLong.of(0);
    }
    return switch ((OperationCode) operation.type()) {
      // One output element takes one filter: kernel height x width x input depth of its group.
      case CONV_2D, GROUPED_CONV_2D ->
          product(output(graph, operation), weights(graph, operation, 1, 3));
      case DEPTHWISE_CONV_2D -> product(output(graph, operation), weights(graph, operation, 1, 2));
      // Each input element is spread over kernel height x width x output depth.
      case TRANSPOSE_CONV_2D ->
          product(shape(graph, operation, 0), filterWithoutInputDepth(graph, operation));
      case FULLY_CONNECTED -> product(output(graph, operation), weights(graph, operation, 1, 1));
      case LSTM,
          UNIDIRECTIONAL_SEQUENCE_LSTM,
          BIDIRECTIONAL_SEQUENCE_LSTM,
          RNN,
          UNIDIRECTIONAL_SEQUENCE_RNN,
          BIDIRECTIONAL_SEQUENCE_RNN,
          SVDF,
          QUANTIZED_16BIT_LSTM,
          QUANTIZED_LSTM ->
          recurrent(graph, operation);
      default -> OptionalLong.of(0);
    };
  }

  private static Shape output(Subgraph graph, Operation operation) {
    return operation.outputs().isEmpty()
        ? Shape.NONE
        : graph.operands().get(operation.outputs().getFirst()).shape();
  }

  /** None where the operation lacks the input; models are not validated before this. */
  private static Shape shape(Subgraph graph, Operation operation, int input) {
    return input < operation.inputs().size()
        ? graph.operands().get(operation.inputs().get(input)).shape()
        : Shape.NONE;
  }

  /** The product of the weights' dimensions from one axis to another; 0 where it is open. */
  private static long weights(Subgraph graph, Operation operation, int first, int last) {
    Shape weights = shape(graph, operation, 1);
    if (weights.rank() <= last) {
      return 0;
    }
    long product = 1;
    for (int axis = first; axis <= last; axis++) {
      product *= weights.dimension(axis);
    }
    return product;
  }

  private static long filterWithoutInputDepth(Subgraph graph, Operation operation) {
    Shape weights = shape(graph, operation, 1);
    return weights.rank() == 4
        ? (long) weights.dimension(0) * weights.dimension(1) * weights.dimension(2)
        : 0;
  }

  private static OptionalLong product(Shape elements, long each) {
    return elements.rank() == 0 || !elements.isFullySpecified() || each == 0
        ? OptionalLong.empty()
        : OptionalLong.of(elements.elementCount() * each);
  }

  private static OptionalLong batchMatmul(Subgraph graph, Operation operation) {
    Shape left = shape(graph, operation, 0);
    Shape out = output(graph, operation);
    if (left.rank() < 2 || out.rank() < 2) {
      return OptionalLong.empty();
    }
    // The summed dimension is one of the left operand's last two; the other one is the result's.
    int rows = out.dimension(out.rank() - 2);
    int last = left.dimension(left.rank() - 1);
    int before = left.dimension(left.rank() - 2);
    return product(out, before == rows ? last : before);
  }

  /** Every step multiplies with every weight matrix once. */
  private static OptionalLong recurrent(Subgraph graph, Operation operation) {
    Shape input = shape(graph, operation, 0);
    if (input.rank() == 0 || !input.isFullySpecified()) {
      return OptionalLong.empty();
    }
    long steps = input.elementCount() / input.dimension(input.rank() - 1);
    long weights = 0;
    for (int index : operation.inputs()) {
      Operand operand = graph.operands().get(index);
      boolean constant = operand.lifetime() instanceof Lifetime.Constant;
      if (constant && operand.type().isTensor() && operand.shape().rank() == 2) {
        weights += operand.shape().elementCount();
      }
    }
    return OptionalLong.of(steps * weights);
  }
}
