// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Evaluates graphs: for each operand its exact value and the bounds within which a conforming
 * device ends, rounding of every operation on the way included. Immutable and thread-safe.
 */
public final class Evaluator {
  /** Operations that round otherwise than NNAPI's, by their names, and those of NNAPI. */
  private static final Map<String, String> ROUNDED =
      ThalamusExtension.ROUNDED.entrySet().stream()
          .collect(
              Collectors.toUnmodifiableMap(
                  each -> name(each.getValue()), each -> each.getKey().name()));

  private final Map<String, Formula> formulas;

  public Evaluator() {
    Map<String, Formula> all = new HashMap<>();
    Activations.register(all);
    Blocks.register(all);
    Convolutions.register(all);
    Movements.register(all);
    Normalizations.register(all);
    Pairs.register(all);
    Pools.register(all);
    Reductions.register(all);
    Regions.register(all);
    Searches.register(all);
    ROUNDED.forEach((other, standard) -> all.put(other, all.get(standard)));
    this.formulas = Map.copyOf(all);
  }

  /** The names of the operations that can be evaluated. */
  public Set<String> operations() {
    return new TreeSet<>(formulas.keySet());
  }

  /** The name of an extension's operation in examples. */
  public static String name(ExtensionOperationType type) {
    return type.text() + "#" + type.code();
  }

  /** The name of NNAPI's operation that one differs from in its rounding alone; else its own. */
  public static String standard(String operation) {
    return ROUNDED.getOrDefault(operation, operation);
  }

  /** Returns whether all operations of an example can be evaluated. */
  public boolean knows(Example example) {
    return example.referenced().isEmpty()
        && example.main().operations().stream()
            .allMatch(operation -> formulas.containsKey(operation.type()));
  }

  /**
   * The values of all operands by index; null for one that is left out.
   *
   * @throws UnsupportedOperationException where a formula does not cover what is asked, as where a
   *     shape depends on values that are known within bounds only
   */
  public List<Tensor> evaluate(Example example) {
    RawSubgraph graph = example.main();
    List<Tensor> values = new ArrayList<>();
    Map<Integer, Values> inputs = new HashMap<>();
    example.inputs().forEach(input -> inputs.put(input.operand(), input.values()));
    for (int i = 0; i < graph.operands().size(); i++) {
      RawOperand operand = graph.operands().get(i);
      Values numbers = inputs.getOrDefault(i, operand.values().orElse(Values.NONE));
      values.add(numbers.isEmpty() ? null : tensor(operand, numbers));
    }
    for (RawOperation operation : graph.operations()) {
      List<Tensor> outputs = evaluate(graph, operation, values);
      for (int i = 0; i < outputs.size(); i++) {
        values.set(operation.outputs().get(i), outputs.get(i));
      }
    }
    return values;
  }

  /** The outputs of one operation, whose inputs are among the values. */
  public List<Tensor> evaluate(RawSubgraph graph, RawOperation operation, List<Tensor> values) {
    Formula formula =
        Optional.ofNullable(formulas.get(operation.type()))
            .orElseThrow(() -> new UnsupportedOperationException(operation.type()));
    List<Tensor> inputs = new ArrayList<>();
    operation.inputs().forEach(index -> inputs.add(values.get(index)));
    scaleBiasByChannel(graph, operation, inputs);
    List<Call.Output> outputs =
        operation.outputs().stream()
            .map(index -> graph.operands().get(index))
            .map(
                operand ->
                    new Call.Output(code(operand), (float) operand.scale(), operand.zeroPoint()))
            .toList();
    List<Result> results = formula.evaluate(new Call(inputs, outputs));
    List<Tensor> stored = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      Call.Output output = outputs.get(i);
      stored.add(Numbers.store(output.type(), output.scale(), output.zeroPoint(), results.get(i)));
    }
    return stored;
  }

  /** A bias beside a filter with scales by channel has the products of the scales, unsaid. */
  private static void scaleBiasByChannel(
      RawSubgraph graph, RawOperation operation, List<Tensor> inputs) {
    if (inputs.size() < 3
        || inputs.get(1) == null
        || inputs.get(1).type() != OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      return;
    }
    Values scales =
        graph.operands().get(operation.inputs().get(1)).channelQuant().orElseThrow().scales();
    Tensor bias = inputs.get(2);
    double[] real = bias.real().middle().clone();
    for (int i = 0; i < real.length; i++) {
      real[i] *= inputs.getFirst().scale() * (float) scales.get(i);
    }
    inputs.set(2, new Tensor(bias.type(), bias.shape(), 0, 0, Bounds.exact(real)));
  }

  /** The value of a constant or an input: stored numbers, exactly. */
  public static Tensor tensor(RawOperand operand, Values numbers) {
    OperandCode type = code(operand);
    double[] real = numbers.toArray();
    int[] shape = operand.dims().toArray();
    if (type == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      RawOperand.ChannelQuant quant = operand.channelQuant().orElseThrow();
      int inner = 1;
      for (int axis = quant.channelDim() + 1; axis < shape.length; axis++) {
        inner *= shape[axis];
      }
      for (int i = 0; i < real.length; i++) {
        real[i] *= (float) quant.scales().get(i / inner % shape[quant.channelDim()]);
      }
      return new Tensor(type, shape, 0, 0, Bounds.exact(real));
    }
    double scale = (float) operand.scale();
    if (Numbers.isQuantized(type) || (type == OperandCode.TENSOR_INT32 && scale > 0)) {
      for (int i = 0; i < real.length; i++) {
        real[i] = scale * (real[i] - operand.zeroPoint());
      }
    }
    return new Tensor(type, shape, scale, operand.zeroPoint(), Bounds.exact(real));
  }

  private static OperandCode code(RawOperand operand) {
    return OperandCode.valueOf(operand.type());
  }
}
