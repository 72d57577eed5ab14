// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.Collectors;

/**
 * Computes graphs of few operations by their definitions, in doubles, which hold all integers of 32
 * bits. A result that its type does not hold is an error: what is composed must not count on the
 * low bits of what overflows. Shapes and operations are those that the tests need.
 */
final class GraphRun {
  private final Model model;
  private final Subgraph graph;
  private final double[][] values;

  private GraphRun(Model model, Subgraph graph) {
    this.model = model;
    this.graph = graph;
    this.values = new double[graph.operands().size()][];
  }

  /** The stored numbers of all outputs. */
  static List<double[]> outputs(Model model, double[]... inputs) {
    return outputs(model, model.main(), List.of(inputs));
  }

  private static List<double[]> outputs(Model model, Subgraph graph, List<double[]> inputs) {
    GraphRun run = new GraphRun(model, graph);
    for (int i = 0; i < inputs.size(); i++) {
      run.values[run.graph.inputIndexes().get(i)] = inputs.get(i);
    }
    run.graph.operations().forEach(run::compute);
    List<double[]> outputs = new ArrayList<>();
    run.graph.outputIndexes().forEach(index -> outputs.add(run.values[index]));
    return outputs;
  }

  private Operand operand(int index) {
    return graph.operands().get(index);
  }

  private double[] values(int index) {
    if (values[index] == null && operand(index).lifetime() instanceof Lifetime.Constant constant) {
      MemorySegment bytes = constant.bytes();
      Elements elements = Elements.of(operand(index).type());
      values[index] = new double[Math.toIntExact(bytes.byteSize() / elements.size())];
      Arrays.setAll(values[index], i -> elements.getDouble(bytes, i));
    }
    return values[index];
  }

  private void compute(Operation operation) {
    List<Integer> inputs = operation.inputs();
    int output = operation.outputs().getFirst();
    String name = operation.type().text().replace("io.thalamus/", "");
    if (name.equals("WHILE")) {
      repeat(operation);
      return;
    }
    double[] result =
        switch (name) {
          case "CAST" -> mapped(inputs.getFirst(), x -> cast(x, operand(output)));
          case "FLOOR" -> mapped(inputs.getFirst(), Math::floor);
          case "RESHAPE" -> values(inputs.getFirst());
          case "ADD" -> paired(operation, (a, b) -> a + b);
          case "SUB" -> paired(operation, (a, b) -> a - b);
          case "MUL" -> paired(operation, (a, b) -> a * b);
          case "MINIMUM" -> paired(operation, Math::min);
          case "MAXIMUM" -> paired(operation, Math::max);
          case "EQUAL" -> paired(operation, (a, b) -> a == b ? 1 : 0);
          case "NOT_EQUAL" -> paired(operation, (a, b) -> a == b ? 0 : 1);
          case "LESS" -> paired(operation, (a, b) -> a < b ? 1 : 0);
          case "RIGHT_SHIFT" -> paired(operation, (a, b) -> (int) a >> (int) b);
          case "RESCALE" -> rescaled(inputs, operand(output));
          case "SELECT" -> selected(inputs);
          case "AS_STRIDED" -> strided(inputs);
          case "CONCATENATION" -> joined(inputs);
          case "GATHER" -> row(inputs);
          case "SCATTER_ND" -> withRow(inputs);
          case "MATMUL_INTEGER" -> weighted(inputs);
          case "BATCH_MATMUL" -> multiplied(inputs, operand(output).shape());
          case "MAX_POOL_2D" -> pooled(inputs, operand(output).shape());
          default -> throw new AssertionError("no definition of " + operation.type().text());
        };
    values[output] = new double[result.length];
    for (int i = 0; i < result.length; i++) {
      values[output][i] = stored(result[i], operand(output));
    }
  }

  private void repeat(Operation operation) {
    List<double[]> states =
        operation.inputs().stream().skip(2).map(this::values).collect(Collectors.toList());
    while (outputs(model, referenced(operation, 0), states).getFirst()[0] != 0) {
      states = outputs(model, referenced(operation, 1), states);
    }
    for (int i = 0; i < states.size(); i++) {
      values[operation.outputs().get(i)] = states.get(i);
    }
  }

  private Subgraph referenced(Operation operation, int input) {
    return switch (operand(operation.inputs().get(input)).lifetime()) {
      case Lifetime.SubgraphReference reference -> model.referenced().get(reference.index());
      default -> throw new AssertionError("no graph");
    };
  }

  /** One row, which an index chooses. */
  private double[] row(List<Integer> inputs) {
    double[] data = values(inputs.getFirst());
    int width = data.length / operand(inputs.getFirst()).shape().dimension(0);
    if (values(inputs.get(1))[0] != 0 || values(inputs.get(2)).length != 1) {
      throw new AssertionError("not one row");
    }
    int from = (int) values(inputs.get(2))[0] * width;
    return Arrays.copyOfRange(data, from, from + width);
  }

  /** All rows, of which one is another. */
  private double[] withRow(List<Integer> inputs) {
    double[] result = values(inputs.getFirst()).clone();
    double[] row = values(inputs.get(2));
    if (values(inputs.get(1)).length != 1 || values(inputs.get(3))[0] != 0) {
      throw new AssertionError("not one row that is replaced");
    }
    System.arraycopy(row, 0, result, (int) values(inputs.get(1))[0] * row.length, row.length);
    return result;
  }

  /** A number as its type holds it: reals of 32 bits are rounded. */
  private static double stored(double value, Operand operand) {
    double stored =
        switch ((OperandCode) operand.type()) {
          case TENSOR_FLOAT32 -> (float) value;
          case TENSOR_INT32 -> (int) value;
          case TENSOR_QUANT16_SYMM -> (short) value;
          case TENSOR_QUANT8_ASYMM_SIGNED -> (byte) value;
          case TENSOR_QUANT8_ASYMM -> (int) value & 0xFF;
          case TENSOR_BOOL8 -> value;
          default -> throw new AssertionError("no numbers of " + operand.text());
        };
    if (stored != value && operand.type() != OperandCode.TENSOR_FLOAT32) {
      throw new AssertionError(value + " does not fit " + operand.text());
    }
    return stored;
  }

  private static double cast(double value, Operand to) {
    return to.type() == OperandCode.TENSOR_FLOAT32 ? value : (long) value;
  }

  private double[] mapped(int input, DoubleUnaryOperator function) {
    return Arrays.stream(values(input)).map(function).toArray();
  }

  /** Of two tensors, of which the second may be a number or a row that is repeated. */
  private double[] paired(Operation operation, DoubleBinaryOperator function) {
    double[] first = values(operation.inputs().get(0));
    double[] second = values(operation.inputs().get(1));
    double[] result = new double[first.length];
    Arrays.setAll(result, i -> function.applyAsDouble(first[i], second[i % second.length]));
    return result;
  }

  private double[] rescaled(List<Integer> inputs, Operand output) {
    double factor = Math.scalb(values(inputs.get(1))[0], (int) values(inputs.get(2))[0] - 31);
    int from = operand(inputs.getFirst()).quantization().zeroPoint();
    int to = output.quantization().zeroPoint();
    Elements elements = Elements.of(output.type());
    return mapped(
        inputs.getFirst(),
        x ->
            Math.clamp(
                to + (double) IntegerOracle.product((int) x - from, factor),
                elements.least(),
                elements.most()));
  }

  private double[] selected(List<Integer> inputs) {
    double[] result = new double[values(inputs.get(0)).length];
    Arrays.setAll(result, i -> values(inputs.get(values(inputs.get(0))[i] != 0 ? 1 : 2))[i]);
    return result;
  }

  private double[] strided(List<Integer> inputs) {
    double[] sizes = values(inputs.get(1));
    double[] strides = values(inputs.get(2));
    double[] result = new double[(int) Arrays.stream(sizes).reduce(1, (a, b) -> a * b)];
    for (int i = 0; i < result.length; i++) {
      double place = values(inputs.get(3))[0];
      int left = i;
      for (int axis = sizes.length - 1; axis >= 0; axis--) {
        place += left % (int) sizes[axis] * strides[axis];
        left /= (int) sizes[axis];
      }
      result[i] = values(inputs.get(0))[(int) place];
    }
    return result;
  }

  private double[] joined(List<Integer> inputs) {
    int rows = 1;
    Shape first = operand(inputs.getFirst()).shape();
    for (int axis = 0; axis < values(inputs.getLast())[0]; axis++) {
      rows *= first.dimension(axis);
    }
    List<Double> result = new ArrayList<>();
    for (int row = 0; row < rows; row++) {
      for (int input : inputs.subList(0, inputs.size() - 1)) {
        int width = values(input).length / rows;
        for (int i = 0; i < width; i++) {
          result.add(values(input)[row * width + i]);
        }
      }
    }
    return result.stream().mapToDouble(Double::doubleValue).toArray();
  }

  private double[] weighted(List<Integer> inputs) {
    int size = operand(inputs.get(1)).shape().dimension(0);
    int units = operand(inputs.get(1)).shape().dimension(1);
    int zero = operand(inputs.get(0)).quantization().zeroPoint();
    int other = operand(inputs.get(1)).quantization().zeroPoint();
    double[] result = new double[values(inputs.get(0)).length / size * units];
    for (int i = 0; i < result.length; i++) {
      for (int k = 0; k < size; k++) {
        result[i] +=
            (values(inputs.get(0))[i / units * size + k] - zero)
                * (values(inputs.get(1))[k * units + i % units] - other);
      }
    }
    return result;
  }

  /** Matrices of rank 4, of which the second ones are the same for all of the first axis. */
  private double[] multiplied(List<Integer> inputs, Shape shape) {
    int inner = operand(inputs.get(0)).shape().dimension(3);
    int pairs = shape.dimension(1);
    double[] result = new double[(int) shape.elementCount()];
    if (shape.dimension(2) != 1 || shape.dimension(3) != 1) {
      throw new AssertionError("not of one row by one column");
    }
    for (int i = 0; i < result.length; i++) {
      for (int k = 0; k < inner; k++) {
        result[i] +=
            values(inputs.get(0))[i * inner + k] * values(inputs.get(1))[i % pairs * inner + k];
      }
    }
    return result;
  }

  /** The maxima of whole windows. */
  private double[] pooled(List<Integer> inputs, Shape shape) {
    Shape data = operand(inputs.getFirst()).shape();
    double[] settings = inputs.subList(1, 7).stream().mapToDouble(i -> values(i)[0]).toArray();
    if (settings[0] != 2 || settings[5] != 0) {
      throw new AssertionError("padded or activated");
    }
    double[] result = new double[(int) shape.elementCount()];
    Arrays.fill(result, Double.NEGATIVE_INFINITY);
    int depth = shape.dimension(3);
    for (int i = 0; i < result.length; i++) {
      int x = i / depth % shape.dimension(2);
      int y = i / depth / shape.dimension(2) % shape.dimension(1);
      int batch = i / depth / shape.dimension(2) / shape.dimension(1);
      for (int dy = 0; dy < settings[4]; dy++) {
        for (int dx = 0; dx < settings[3]; dx++) {
          int row = batch * data.dimension(1) + (int) settings[2] * y + dy;
          int place = row * data.dimension(2) + (int) settings[1] * x + dx;
          result[i] = Math.max(result[i], values(inputs.getFirst())[place * depth + i % depth]);
        }
      }
    }
    return result;
  }
}
