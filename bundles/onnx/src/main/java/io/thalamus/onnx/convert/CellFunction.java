// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.OnnxAttribute;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A function in the cells of a recurrent layer.
 *
 * @param alpha its first number, where it has any
 * @param beta its second
 */
record CellFunction(String name, double alpha, double beta) {
  private static final Set<String> PLAIN =
      Set.of("Sigmoid", "Tanh", "Relu", "Softsign", "Softplus");

  /** Functions with one number, which the file may leave out; others are as in ONNX Runtime. */
  private static final Map<String, Double> SINGLE =
      Map.of("LeakyRelu", 0.01, "ThresholdedRelu", 0.0, "Elu", 1.0);

  private static final Map<String, List<Double>> DOUBLE =
      Map.of(
          "HardSigmoid", List.of(0.2, 0.5),
          "Affine", List.of(0.0, 0.0),
          "ScaledTanh", List.of(0.0, 0.0));

  /**
   * Returns the functions of all directions. Their numbers stand in two lists, from which those
   * that have any take the next ones.
   */
  static List<CellFunction> of(Node node, int directions, int gates) {
    List<String> each =
        switch (gates) {
          case 4 -> List.of("Sigmoid", "Tanh", "Tanh");
          case 3 -> List.of("Sigmoid", "Tanh");
          default -> List.of("Tanh");
        };
    OnnxAttribute given = node.onnx().attributes().get("activations");
    List<String> names = new ArrayList<>();
    if (given == null || given.strings().isEmpty()) {
      for (int i = 0; i < directions; i++) {
        names.addAll(each);
      }
    } else {
      names.addAll(given.strings());
      node.require(
          names.size() == directions * each.size(),
          "it has %d activations in %d directions".formatted(names.size(), directions));
    }
    float[] alphas = node.reals("activation_alpha");
    float[] betas = node.reals("activation_beta");
    int alpha = 0;
    int beta = 0;
    List<CellFunction> functions = new ArrayList<>();
    for (String name : names) {
      if (PLAIN.contains(name)) {
        functions.add(new CellFunction(name, 0, 0));
      } else if (SINGLE.containsKey(name)) {
        functions.add(new CellFunction(name, number(alphas, alpha++, SINGLE.get(name)), 0));
      } else if (DOUBLE.containsKey(name)) {
        double first = number(alphas, alpha++, DOUBLE.get(name).get(0));
        functions.add(
            new CellFunction(name, first, number(betas, beta++, DOUBLE.get(name).get(1))));
      } else {
        throw node.refuse("its activation is " + name);
      }
    }
    return functions;
  }

  private static double number(float[] given, int index, double otherwise) {
    return given != null && index < given.length ? given[index] : otherwise;
  }

  Value of(Ops ops, Value value) {
    return switch (name) {
      case "Sigmoid" -> ops.unary(Unary.LOGISTIC, value);
      case "Tanh" -> ops.unary(Unary.TANH, value);
      case "Relu" -> ops.unary(Unary.RELU, value);
      case "Softsign" -> Activation.softsign(ops, value);
      case "Softplus" -> Activation.softplus(ops, value);
      case "HardSigmoid" -> Activation.hardSigmoid(ops, value, alpha, beta);
      case "LeakyRelu" -> Activation.prelu(ops, value, ops.number(value.type(), alpha));
      case "ThresholdedRelu" -> Activation.thresholdedRelu(ops, value, alpha);
      case "Elu" -> Activation.elu(ops, value, alpha);
      case "Affine" -> ops.add(ops.mul(value, alpha), beta);
      case "ScaledTanh" -> ops.mul(ops.unary(Unary.TANH, ops.mul(value, beta)), alpha);
      default -> throw new IllegalStateException(name);
    };
  }
}
