// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Lets operations between DEQUANTIZE and QUANTIZE compute on the stored integers. An operation that
 * only moves elements does so before DEQUANTIZE; one that computes becomes the quantized operation
 * if its result goes to QUANTIZE alone and its definition takes these types and scales. Used once;
 * not thread-safe.
 */
final class QuantizedFusion {
  private static final int INPUT = 0;
  private static final int WEIGHTS = 1;
  private static final int BIAS = 2;

  private final Subgraph graph;
  private final OperationCatalog catalog;
  private final QuantizedConstants constants;
  private final SubgraphBuilder built;

  /** For results of DEQUANTIZE, and of CAST between types of the same width, what they read. */
  private final Map<Integer, Integer> sources = new HashMap<>();

  private final Map<Integer, Integer> same = new HashMap<>();
  private final Map<Integer, Operation> producers = new HashMap<>();
  private final Map<Integer, List<Operation>> readers = new HashMap<>();

  private QuantizedFusion(
      Subgraph graph, OperationCatalog catalog, Map<Lifetime.Constant, Grid> grids) {
    this.graph = graph;
    this.catalog = catalog;
    this.constants = new QuantizedConstants(grids);
    this.built = new SubgraphBuilder(graph.operands());
  }

  /**
   * The graph with such operations.
   *
   * @param grids of stored integers, by identity of the constants
   */
  static Subgraph fuse(
      Subgraph graph, OperationCatalog catalog, Map<Lifetime.Constant, Grid> grids) {
    boolean isQuantized =
        graph.operations().stream().anyMatch(each -> each.type() == OperationCode.DEQUANTIZE);
    return isQuantized ? new QuantizedFusion(graph, catalog, grids).fuse() : graph;
  }

  private Subgraph fuse() {
    for (Operation operation : graph.operations()) {
      for (int input : Set.copyOf(operation.inputs())) {
        readers.computeIfAbsent(input, key -> new ArrayList<>()).add(operation);
      }
    }
    for (Operation known : graph.operations()) {
      List<Integer> inputs =
          known.inputs().stream().map(input -> same.getOrDefault(input, input)).toList();
      Operation operation = new Operation(known.type(), inputs, known.outputs());
      int output = known.outputs().getFirst();
      if (isConversion(operation) && isKnown(operation)) {
        continue;
      }
      if (operation.type() == ThalamusExtension.QUANTIZE && isComputed(operation)) {
        continue;
      }
      if (!isMoved(operation)) {
        add(operation);
        producers.put(output, operation);
        if (isConversion(operation) && operation.type() != ThalamusExtension.QUANTIZE) {
          sources.put(output, operation.inputs().getFirst());
        }
      }
    }
    return built.build(graph.inputIndexes(), graph.outputIndexes());
  }

  private Operand operand(int index) {
    return built.get(index);
  }

  private static boolean is8Bit(Operand operand) {
    return operand.type() == OperandCode.TENSOR_QUANT8_ASYMM
        || operand.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }

  private boolean isConversion(Operation operation) {
    Operand input = operand(operation.inputs().getFirst());
    Operand output = operand(operation.outputs().getFirst());
    return operation.type() == OperationCode.DEQUANTIZE
        || operation.type() == ThalamusExtension.QUANTIZE
        || operation.type() == OperationCode.CAST && is8Bit(input) && input.type() == output.type();
  }

  private boolean isSame(Operand a, Operand b) {
    return a.type() == b.type() && a.quantization().equals(b.quantization());
  }

  /** Returns whether a conversion gives what is at hand already, which then takes its place. */
  private boolean isKnown(Operation operation) {
    int output = operation.outputs().getFirst();
    Integer source = sources.get(operation.inputs().getFirst());
    boolean isReal = !is8Bit(operand(operation.inputs().getFirst()));
    boolean isBack =
        source != null
            && isSame(operand(source), operand(output))
            && (operation.type() == ThalamusExtension.QUANTIZE) == isReal;
    if (isBack && !graph.outputIndexes().contains(output)) {
      same.put(output, source);
      return true;
    }
    return false;
  }

  // ---- what moves elements ----

  /** Returns the number of first inputs that are moved; 0 where an operation computes. */
  private static int movedInputs(Operation operation) {
    if (operation.type() == ThalamusExtension.AS_STRIDED) {
      return 1;
    }
    if (!(operation.type() instanceof OperationCode type)) {
      return 0;
    }
    return switch (type) {
      case RESHAPE,
          TRANSPOSE,
          SLICE,
          DEPTH_TO_SPACE,
          GATHER,
          MAX_POOL_2D,
          PAD,
          RESIZE_NEAREST_NEIGHBOR,
          RELU ->
          1;
      case CONCATENATION -> operation.inputs().size() - 1;
      default -> 0;
    };
  }

  private boolean isMoved(Operation operation) {
    int count = movedInputs(operation);
    if (count == 0) {
      return false;
    }
    int first = operation.inputs().getFirst();
    Integer source = sources.get(first);
    if (source == null || operation.type() == OperationCode.RELU && is8Bit(operand(first))) {
      return false;
    }
    List<Integer> inputs = new ArrayList<>(operation.inputs());
    for (int i = 0; i < count; i++) {
      Integer from = sources.get(inputs.get(i));
      if (from == null
          || !isSame(operand(from), operand(source))
          || !isSame(operand(inputs.get(i)), operand(first))) {
        return false;
      }
      inputs.set(i, from);
    }
    int output = operation.outputs().getFirst();
    Operand result = operand(output);
    Operand stored = operand(source);
    int moved = temporary(stored.type(), result.shape(), stored.quantization());
    Operation direct = new Operation(operation.type(), inputs, List.of(moved));
    OperationType back = is8Bit(result) ? OperationCode.CAST : OperationCode.DEQUANTIZE;
    Operation conversion = new Operation(back, List.of(moved), List.of(output));
    if (!isValid(direct) || !isValid(conversion)) {
      return false;
    }
    add(direct);
    add(conversion);
    sources.put(output, moved);
    return true;
  }

  private int temporary(OperandType type, Shape shape, Quantization quantization) {
    return built.temporary("", type, shape, quantization);
  }

  private void add(Operation operation) {
    built.operation(operation.type(), operation.inputs(), operation.outputs());
  }

  private boolean isValid(Operation operation) {
    Optional<OperationDefinition> definition = catalog.find(operation.type());
    try {
      definition
          .orElseThrow()
          .validate(
              OperationView.of(built, operation.type(), operation.inputs(), operation.outputs()));
      return true;
    } catch (ValidationException e) {
      return false;
    }
  }

  // ---- what computes ----

  /**
   * Returns the number of first inputs that are data; 0 where stored integers would be rounded in
   * another way than the real numbers are.
   */
  private static int dataInputs(Operation operation) {
    if (operation.type() == ThalamusExtension.BATCH_MATMUL) {
      return 2;
    }
    if (!(operation.type() instanceof OperationCode type)) {
      return 0;
    }
    return switch (type) {
      case CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, FULLY_CONNECTED -> 3;
      case ADD, SUB, MUL, MAXIMUM, MINIMUM -> 2;
      case RELU6, RELU1 -> 1;
      default -> 0;
    };
  }

  /**
   * Returns whether QUANTIZE stands behind an operation that now computes its result, of which
   * others may move the elements.
   */
  private boolean isComputed(Operation quantize) {
    int real = quantize.inputs().getFirst();
    int output = quantize.outputs().getFirst();
    Operation producer = producers.get(real);
    List<Operation> moves = new ArrayList<>();
    while (producer != null && isPlainMove(producer)) {
      moves.addFirst(producer);
      producer = producers.get(producer.inputs().getFirst());
    }
    int count = producer == null ? 0 : dataInputs(producer);
    if (count == 0
        || graph.outputIndexes().contains(real)
        || !isReadBySame(real, output)
        || !moves.stream().allMatch(this::isReadOnce)) {
      return false;
    }
    List<Integer> inputs = new ArrayList<>(producer.inputs());
    boolean isWeighted = count > BIAS;
    int data = isWeighted ? 1 : count;
    OperandType type = operand(output).type();
    for (int i = 0; i < data; i++) {
      Integer source = sources.get(inputs.get(i));
      if (source == null) {
        source = constant(constants.perTensor(operand(inputs.get(i)), type));
      }
      if (source == null || operand(source).type() != type || !is8Bit(operand(source))) {
        return false;
      }
      inputs.set(i, source);
    }
    if (isWeighted && !isWeighted(producer, inputs)) {
      return false;
    }
    boolean isChosen =
        producer.type() == OperationCode.MAXIMUM || producer.type() == OperationCode.MINIMUM;
    if (isChosen && !inputs.stream().allMatch(each -> isSame(operand(each), operand(output)))) {
      return false;
    }
    if (producer.type() == ThalamusExtension.BATCH_MATMUL) {
      inputs.add(built.bool(true));
    }
    OperationType rounded = ThalamusExtension.ROUNDED.get(producer.type());
    int result = moves.isEmpty() ? output : like(output, producer.outputs().getFirst());
    Operation fused =
        new Operation(rounded == null ? producer.type() : rounded, inputs, List.of(result));
    if (producer.type() == OperationCode.FULLY_CONNECTED
        && operand(inputs.get(WEIGHTS)).type() == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      return moves.isEmpty() && isConvolved(fused);
    }
    List<Operation> all = new ArrayList<>(List.of(fused));
    for (Operation move : moves) {
      List<Integer> moved = new ArrayList<>(move.inputs());
      moved.set(0, all.getLast().outputs().getFirst());
      int place = move.outputs().getFirst();
      int to = move == moves.getLast() ? output : like(output, place);
      all.add(new Operation(move.type(), moved, List.of(to)));
    }
    if (!all.stream().allMatch(this::isValid)) {
      return false;
    }
    all.forEach(this::add);
    sources.put(real, output);
    return true;
  }

  private static boolean isPlainMove(Operation operation) {
    return operation.type() == OperationCode.DEPTH_TO_SPACE
        || operation.type() == OperationCode.RESHAPE
        || operation.type() == OperationCode.SLICE;
  }

  private boolean isReadOnce(Operation move) {
    int moved = move.inputs().getFirst();
    return readers.getOrDefault(moved, List.of()).size() == 1
        && !graph.outputIndexes().contains(moved);
  }

  /** A value stored like one, in the shape of another. */
  private int like(int stored, int shaped) {
    Operand known = operand(stored);
    return temporary(known.type(), operand(shaped).shape(), known.quantization());
  }

  /** Other readers that quantize in the same way read the same result. */
  private boolean isReadBySame(int real, int output) {
    for (Operation reader : readers.getOrDefault(real, List.of())) {
      int other = reader.outputs().getFirst();
      if (reader.type() != ThalamusExtension.QUANTIZE || !isSame(operand(other), operand(output))) {
        return false;
      }
    }
    return true;
  }

  private Integer constant(Optional<Operand> value) {
    return value.map(built::operand).orElse(null);
  }

  private boolean isWeighted(Operation producer, List<Integer> inputs) {
    Operand weights = operand(inputs.get(WEIGHTS));
    OperandType type = operand(inputs.get(INPUT)).type();
    boolean isDepthwise = producer.type() == OperationCode.DEPTHWISE_CONV_2D;
    boolean isLayer = producer.type() == OperationCode.FULLY_CONNECTED;
    int axis = isDepthwise ? weights.shape().rank() - 1 : 0;
    Integer stored = isLayer ? constant(constants.perTensor(weights, type)) : null;
    if (stored == null) {
      stored = constant(constants.perChannel(weights, axis));
    }
    if (stored == null) {
      stored = constant(constants.perTensor(weights, type));
    }
    if (stored == null) {
      return false;
    }
    inputs.set(WEIGHTS, stored);
    Integer bias =
        constant(
            constants.bias(operand(inputs.get(BIAS)), operand(inputs.get(INPUT)), operand(stored)));
    if (bias == null) {
      return false;
    }
    inputs.set(BIAS, bias);
    return true;
  }

  /** A product with a scale for each column, as NNAPI has it in convolutions alone. */
  private boolean isConvolved(Operation layer) {
    Operand input = operand(layer.inputs().get(INPUT));
    Operand weights = operand(layer.inputs().get(WEIGHTS));
    Operand output = operand(layer.outputs().getFirst());
    int depth = weights.shape().dimension(1);
    int units = weights.shape().dimension(0);
    int rows = output.shape().dimension(0);
    int data = temporary(input.type(), Shape.of(rows, 1, 1, depth), input.quantization());
    int filter = built.operand(weights.with(Shape.of(units, 1, 1, depth)));
    int result = temporary(output.type(), Shape.of(rows, 1, 1, units), output.quantization());
    int none = built.int32(0);
    int step = built.int32(1);
    Operation convolution =
        new Operation(
            ThalamusExtension.CONV_2D,
            List.of(
                data,
                filter,
                layer.inputs().get(BIAS),
                none,
                none,
                none,
                none,
                step,
                step,
                layer.inputs().get(3)),
            List.of(result));
    if (!isValid(convolution)) {
      return false;
    }
    built.operation(
        OperationCode.RESHAPE,
        List.of(layer.inputs().get(INPUT), built.int32Vector(rows, 1, 1, depth)),
        List.of(data));
    add(convolution);
    built.operation(
        OperationCode.RESHAPE, List.of(result, built.int32Vector(rows, units)), layer.outputs());
    return true;
  }
}
