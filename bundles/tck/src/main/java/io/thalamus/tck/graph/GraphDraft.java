// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.reference.Bounds;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperand.Dims;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;

/**
 * A graph that grows from its inputs on. Every operation is evaluated as soon as it is added, and
 * taken back where its results are too large, or too uncertain to tell a right device from a wrong
 * one. Used by one thread for one graph.
 */
final class GraphDraft {
  /** Elements of a tensor: graphs are to be many rather than large. */
  private static final int MOST_ELEMENTS = 2_048;

  /** The probability that an operation takes a tensor that is there rather than a new one. */
  private static final double REUSE = 0.85;

  /** The probability that a tensor that others read is an output of the graph, too. */
  private static final double OBSERVED = 0.15;

  private final Random random;
  private final Evaluator evaluator;
  private final List<RawOperand> operands = new ArrayList<>();
  private final List<Tensor> values = new ArrayList<>();
  private final List<RawOperation> operations = new ArrayList<>();

  /** The indexes of tensors that operations may read. */
  private final List<Integer> tensors = new ArrayList<>();

  private final Set<Integer> computed = new HashSet<>();

  /** The tensors that a request gives; the other ones from outside are constants. */
  private final Set<Integer> inputs = new HashSet<>();

  private final Predicate<Example> acceptable;

  /**
   * @param acceptable whether a graph of one operation may be part of a larger one
   */
  GraphDraft(Random random, Evaluator evaluator, Predicate<Example> acceptable) {
    this.random = random;
    this.evaluator = evaluator;
    this.acceptable = acceptable;
  }

  Random random() {
    return random;
  }

  Tensor tensor(int index) {
    return values.get(index);
  }

  int operationCount() {
    return operations.size();
  }

  /** The type of the tensor that was added last, if there is one. */
  Optional<OperandCode> lastType() {
    return tensors.isEmpty() ? Optional.empty() : Optional.of(values.get(tensors.getLast()).type());
  }

  /** A number in [low, high]. */
  int between(int low, int high) {
    return low + random.nextInt(high - low + 1);
  }

  /** One of the tensors that are there; the later ones rather than the first. */
  Optional<Integer> existing(Predicate<Tensor> wanted) {
    List<Integer> fitting =
        tensors.stream().filter(index -> wanted.test(values.get(index))).toList();
    if (fitting.isEmpty()) {
      return Optional.empty();
    }
    double place = Math.max(random.nextDouble(), random.nextDouble());
    return Optional.of(fitting.get((int) (place * fitting.size())));
  }

  /** A tensor of a type and rank that is there, or a new one. */
  int pick(OperandCode type, int leastRank, int mostRank) {
    return pick(type, leastRank, mostRank, tensor -> true, Range.USUAL);
  }

  /** A tensor that is there and fits, or a new one with values in a range. */
  int pick(OperandCode type, int leastRank, int mostRank, Predicate<Tensor> fits, Range range) {
    if (random.nextDouble() < REUSE) {
      Optional<Integer> found =
          existing(
              t ->
                  t.type() == type
                      && t.rank() >= leastRank
                      && t.rank() <= mostRank
                      && fits.test(t));
      if (found.isPresent()) {
        return found.get();
      }
    }
    return leaf(type, shape(between(leastRank, mostRank)), range);
  }

  /** A random shape of a rank, of a few hundred elements at most. */
  int[] shape(int rank) {
    int most = new int[] {1, 40, 16, 8, 6}[rank];
    int[] shape = new int[rank];
    Arrays.setAll(shape, axis -> between(1, most));
    return shape;
  }

  /** A tensor given from outside, quantized at random where its type is. */
  int leaf(OperandCode type, int[] shape, Range range) {
    Quant quant =
        Quant.isQuantized(type) && range != Range.USUAL
            ? Quant.spanning(type, range.low(), range.high())
            : Quant.random(type, random);
    return leaf(type, shape, range, quant);
  }

  int leaf(OperandCode type, int[] shape, Range range, Quant quant) {
    double[] stored = new double[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
    Arrays.setAll(stored, i -> range.stored(type, quant, random));
    return tensor(type, shape, quant, stored);
  }

  /** A tensor with these stored values, given from outside. */
  int tensor(OperandCode type, int[] shape, Quant quant, double... stored) {
    int index = operand(type, shape, quant, stored);
    tensors.add(index);
    if (random.nextBoolean()) {
      inputs.add(index);
    }
    return index;
  }

  private int operand(OperandCode type, int[] shape, Quant quant, double... stored) {
    RawOperand operand =
        RawOperand.of("t" + operands.size(), type.name(), Dims.of(shape), "CONSTANT_COPY", 0)
            .withScale(quant.scale())
            .withZeroPoint(quant.zeroPoint())
            .withValues(Optional.of(Values.of(stored)));
    operands.add(operand);
    values.add(Evaluator.tensor(operand, Values.of(stored)));
    return operands.size() - 1;
  }

  int int32(int value) {
    return operand(OperandCode.INT32, new int[0], Quant.NONE, value);
  }

  int bool(boolean value) {
    return operand(OperandCode.BOOL, new int[0], Quant.NONE, value ? 1 : 0);
  }

  /** A scalar of the float type that goes with a tensor; exact in float16, too, by its maker. */
  int scalarFor(OperandCode type, double value) {
    return operand(
        type == OperandCode.TENSOR_FLOAT16 ? OperandCode.FLOAT16 : OperandCode.FLOAT32,
        new int[0],
        Quant.NONE,
        value);
  }

  /** A constant vector or matrix of integers that is no tensor to compute with. */
  int ints(int[] shape, int... numbers) {
    return operand(
        OperandCode.TENSOR_INT32,
        shape,
        Quant.NONE,
        Arrays.stream(numbers).asDoubleStream().toArray());
  }

  int ints(int... numbers) {
    return ints(new int[] {numbers.length}, numbers);
  }

  /** A bias: quantized ones stand for the product of two scales. */
  int bias(int input, int filter, int channels) {
    Tensor data = values.get(input);
    if (!Quant.isQuantized(data.type())) {
      return leaf(data.type(), new int[] {channels}, Range.USUAL);
    }
    double scale = (float) (data.scale() * values.get(filter).scale());
    double[] stored = new double[channels];
    Arrays.setAll(stored, i -> Math.rint((random.nextDouble() - 0.5) / scale));
    return operand(OperandCode.TENSOR_INT32, new int[] {channels}, new Quant(scale, 0), stored);
  }

  /**
   * Returns what the operation would compute in full precision, to choose a quantization by.
   *
   * @return the least and the greatest exact result of its first output
   */
  double[] span(String operation, List<Integer> inputs) {
    Tensor real =
        evaluate(operation, inputs, List.of(new Out(OperandCode.TENSOR_FLOAT32))).getFirst();
    double low = Double.POSITIVE_INFINITY;
    double high = Double.NEGATIVE_INFINITY;
    for (double value : real.real().middle()) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return new double[] {low, high};
  }

  /** An output with the quantization that the results need, where its type is quantized. */
  Out fitting(String operation, OperandCode type, List<Integer> inputs) {
    return fitting(operation, type, inputs, 0);
  }

  /** The same with a scale that is greater than some limit. */
  Out fitting(String operation, OperandCode type, List<Integer> inputs, double leastScale) {
    if (!Quant.isQuantized(type)) {
      return new Out(type);
    }
    double[] span = span(operation, inputs);
    // Now and then some results are beyond what can be stored.
    double part = random.nextInt(4) == 0 ? 0.7 : 1;
    double reach = leastScale * 255 * 1.01;
    double low = span[0] * part;
    return new Out(
        type, Quant.spanning(type, low, Math.max(span[1] * part, Math.min(low, 0) + reach)));
  }

  private List<Tensor> evaluate(String operation, List<Integer> inputs, List<Out> outputs) {
    List<RawOperand> declared = new ArrayList<>(operands);
    List<Integer> indexes = new ArrayList<>();
    for (Out out : outputs) {
      indexes.add(declared.size());
      declared.add(out.operand("t" + declared.size(), new int[0]));
    }
    RawOperation raw = new RawOperation(operation, inputs, indexes);
    return evaluator.evaluate(
        new RawSubgraph(declared, List.of(raw), List.of(), List.of()), raw, values);
  }

  /**
   * Adds an operation, unless its results are of no use.
   *
   * @return whether it was added
   */
  boolean add(String operation, List<Integer> inputs, Out... outputs) {
    List<Tensor> results = evaluate(operation, inputs, List.of(outputs));
    for (Tensor result : results) {
      if (result.size() == 0
          || result.size() > MOST_ELEMENTS
          || result.rank() > 4
          || !BoundTightness.isUseful(result)) {
        return false;
      }
    }
    List<Integer> indexes = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      int index = operands.size();
      operands.add(outputs[i].operand("t" + index, results.get(i).shape()));
      values.add(results.get(i));
      computed.add(index);
      indexes.add(index);
      if (results.get(i).rank() > 0) {
        tensors.add(index);
      }
    }
    operations.add(new RawOperation(operation, inputs, indexes));
    if (!acceptable.test(lastOperation())) {
      operations.removeLast();
      indexes.forEach(computed::remove);
      return false;
    }
    return true;
  }

  /** The last operation alone, with what it reads given from outside. */
  private Example lastOperation() {
    RawOperation last = operations.getLast();
    List<RawOperand> alone = new ArrayList<>(operands);
    for (int input : last.inputs()) {
      if (computed.contains(input)) {
        alone.set(
            input,
            operands
                .get(input)
                .withLifetime("SUBGRAPH_INPUT")
                .withValues(Optional.of(Graphs.stored(values.get(input)))));
      } else if (inputs.contains(input)) {
        alone.set(input, operands.get(input).withLifetime("SUBGRAPH_INPUT"));
      }
    }
    for (int output : last.outputs()) {
      alone.set(output, operands.get(output).withLifetime("SUBGRAPH_OUTPUT"));
    }
    return Graphs.example(
        last.type(), new RawSubgraph(alone, List.of(last), List.of(), List.of()), evaluator);
  }

  /** A mark to go back to. */
  int mark() {
    return operands.size();
  }

  /** Takes back all operands from a mark on, which no operation uses. */
  void backTo(int mark) {
    while (operands.size() > mark) {
      operands.removeLast();
      values.removeLast();
    }
    tensors.removeIf(index -> index >= mark);
    inputs.removeIf(index -> index >= mark);
  }

  /** Returns whether an operation reads a tensor that is given from outside. */
  boolean hasLeaf() {
    return operations.stream()
        .flatMap(operation -> operation.inputs().stream())
        .anyMatch(index -> tensors.contains(index) && !computed.contains(index));
  }

  Example finish(String name) {
    int[] consumers = new int[operands.size()];
    operations.forEach(operation -> operation.inputs().forEach(input -> consumers[input]++));
    List<Integer> leaves =
        tensors.stream()
            .filter(index -> !computed.contains(index) && consumers[index] > 0)
            .toList();
    if (leaves.stream().noneMatch(inputs::contains)) {
      inputs.add(leaves.get(random.nextInt(leaves.size())));
    }
    Set<Integer> outputs = new HashSet<>();
    for (int index : computed) {
      if (consumers[index] == 0 || random.nextDouble() < OBSERVED) {
        outputs.add(index);
      }
    }
    List<RawOperand> finished = new ArrayList<>();
    for (int i = 0; i < operands.size(); i++) {
      RawOperand operand = operands.get(i).withConsumers(consumers[i]);
      if (computed.contains(i)) {
        operand =
            operand.withLifetime(outputs.contains(i) ? "SUBGRAPH_OUTPUT" : "TEMPORARY_VARIABLE");
      } else if (inputs.contains(i)) {
        operand = operand.withLifetime("SUBGRAPH_INPUT");
      }
      finished.add(operand);
    }
    return Graphs.example(
        name, new RawSubgraph(finished, operations, List.of(), List.of()), evaluator);
  }

  /** An output of an operation. */
  record Out(OperandCode type, Quant quant) {
    Out(OperandCode type) {
      this(type, Quant.NONE);
    }

    RawOperand operand(String name, int[] shape) {
      return RawOperand.of(name, type.name(), Dims.of(shape), "TEMPORARY_VARIABLE", 0)
          .withScale(quant.scale())
          .withZeroPoint(quant.zeroPoint());
    }
  }

  /** Returns whether bounds are within others. */
  static boolean isWithin(Bounds bounds, double low, double high) {
    return Arrays.stream(bounds.low()).allMatch(value -> value >= low)
        && Arrays.stream(bounds.high()).allMatch(value -> value <= high);
  }
}
