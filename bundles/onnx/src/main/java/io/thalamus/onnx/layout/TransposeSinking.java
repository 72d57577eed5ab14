// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Pushes transposes behind the operations that do not mind the order of dimensions, until they meet
 * others that undo them. A transpose is not carried out where it stands: its result is noted as a
 * view of its input, and only an operation that minds has it made. Used once; not thread-safe.
 */
final class TransposeSinking {
  /**
   * A value as another one with its dimensions in another order.
   *
   * @param source the other one
   * @param order for each dimension, which one of the source it is
   */
  private record View(int source, int[] order) {}

  private final Subgraph graph;
  private final Map<Lifetime.Constant, Grid> grids;
  private final SubgraphBuilder built;
  private final Map<Integer, View> views = new HashMap<>();
  private final Set<Integer> made = new HashSet<>();

  /** By its result, each moved operation whose result NNAPI's transpose does not take. */
  private final Map<Integer, Operation> repeatable = new HashMap<>();

  private TransposeSinking(Subgraph graph, Map<Lifetime.Constant, Grid> grids) {
    this.graph = graph;
    this.grids = grids;
    this.built = new SubgraphBuilder(graph.operands());
  }

  static Subgraph sink(Subgraph graph, Map<Lifetime.Constant, Grid> grids) {
    return new TransposeSinking(graph, grids).sink();
  }

  private Subgraph sink() {
    for (Operation operation : graph.operations()) {
      if (!isTranspose(operation) && !isMoved(operation)) {
        built.operation(operation.type(), read(operation.inputs()), operation.outputs());
      }
    }
    List<Integer> outputs = new ArrayList<>();
    for (int output : graph.outputIndexes()) {
      outputs.add(output(output, outputs));
    }
    return built.build(graph.inputIndexes(), outputs);
  }

  /**
   * The operand of an output; where it is a view in its own order, what it views takes its place.
   */
  private int output(int output, List<Integer> before) {
    View view = views.get(output);
    boolean isSame = view != null && isSorted(view.order());
    if (isSame
        && !made.contains(output)
        && operand(view.source()).lifetime().equals(Lifetime.TEMPORARY_VARIABLE)
        && !before.contains(view.source())) {
      built.replace(view.source(), operand(output));
      return view.source();
    }
    make(output);
    return output;
  }

  // ---- views ----

  private static boolean isSorted(int... order) {
    return Arrays.equals(order, Dims.range(order.length));
  }

  private Operand operand(int index) {
    return built.get(index);
  }

  /** The operand that has a value in its own order: what a view in that order views, or itself. */
  private int read(int index) {
    View view = views.get(index);
    if (view != null && isSorted(view.order())) {
      return view.source();
    }
    make(index);
    return index;
  }

  private List<Integer> read(List<Integer> indexes) {
    List<Integer> sources = new ArrayList<>(indexes.size());
    for (int index : indexes) {
      sources.add(read(index));
    }
    return sources;
  }

  /**
   * Carries a transpose out, where a value is a view that has not been made yet; an operation whose
   * result cannot be transposed is repeated in the order of the value.
   */
  private void make(int index) {
    View view = views.get(index);
    if (view == null || !made.add(index)) {
      return;
    }
    Operation again = repeatable.get(index);
    if (again != null) {
      built.operation(again.type(), read(again.inputs()), again.outputs());
      return;
    }
    int[] shape = operand(view.source()).shape().toArray();
    boolean isOpen = Dims.zeros(shape) > 1;
    boolean isInOrder = !isOpen && Dims.isInOrder(shape, view.order());
    int[] target = target(operand(index).shape().toArray());
    built.operation(
        isInOrder ? OperationCode.RESHAPE : OperationCode.TRANSPOSE,
        List.of(view.source(), built.int32Vector(isInOrder ? target : view.order())),
        List.of(index));
  }

  /** The shape that a reshape is given: a size that only an execution determines is the rest. */
  private static int[] target(int... shape) {
    int[] target = shape.clone();
    Arrays.setAll(target, axis -> shape[axis] == 0 ? -1 : shape[axis]);
    return target;
  }

  private boolean isTranspose(Operation operation) {
    if (operation.type() == OperationCode.RESHAPE) {
      return isReshapedView(operation);
    }
    if (operation.type() != OperationCode.TRANSPOSE) {
      return false;
    }
    int[] order = constant(operation, 1);
    if (order == null) {
      return false;
    }
    int input = operation.inputs().getFirst();
    View before = views.get(input);
    views.put(
        operation.outputs().getFirst(),
        before == null
            ? new View(input, order)
            : new View(before.source(), Dims.permute(before.order(), order)));
    return true;
  }

  /** A reshape of a view that moves nothing but dimensions of size 1 reads the source itself. */
  private boolean isReshapedView(Operation operation) {
    View view = views.get(operation.inputs().getFirst());
    if (view == null) {
      return false;
    }
    if (!Dims.isInOrder(operand(view.source()).shape().toArray(), view.order())) {
      return isFramedView(operation, view);
    }
    built.operation(
        operation.type(), List.of(view.source(), operation.inputs().get(1)), operation.outputs());
    return true;
  }

  /** A reshape that takes away, or puts in, dimensions of size 1 does so to the source. */
  private boolean isFramedView(Operation operation, View view) {
    int result = operation.outputs().getFirst();
    int[] from = operand(operation.inputs().getFirst()).shape().toArray();
    int[] to = operand(result).shape().toArray();
    int[] origins = origins(from, to);
    if (origins == null || to.length > 4 || !canBeTransposed(result)) {
      return false;
    }
    // A new dimension goes where the one behind it is in the source, before it.
    int[] keys = new int[to.length];
    for (int i = to.length - 1, key = 2 * from.length; i >= 0; i--) {
      key = origins[i] < 0 ? key : 2 * view.order()[origins[i]] + 1;
      keys[i] = origins[i] < 0 ? key - 1 : key;
    }
    int[] sorted =
        IntStream.range(0, to.length)
            .boxed()
            .sorted(Comparator.comparingInt(i -> keys[i]))
            .mapToInt(i -> i)
            .toArray();
    int[] shape = Dims.permute(to, sorted);
    Operand known = operand(result);
    int source = built.temporary("", known.type(), Shape.of(shape), known.quantization());
    built.operation(
        operation.type(),
        List.of(view.source(), built.int32Vector(target(shape))),
        List.of(source));
    views.put(result, new View(source, Dims.inverse(sorted)));
    return true;
  }

  /**
   * For each dimension of a shape which one it is of another, -1 for one of size 1 that is new;
   * null where they differ in more than such ones, or more than one size is open.
   */
  private static int[] origins(int[] from, int[] to) {
    int[] origins = new int[to.length];
    int next = 0;
    int open = 0;
    for (int i = 0; i < to.length; i++) {
      while (next < from.length && from[next] != to[i] && from[next] == 1) {
        next++;
      }
      boolean isThere = next < from.length && from[next] == to[i];
      if (!isThere && to[i] != 1) {
        return null;
      }
      open += to[i] == 0 ? 1 : 0;
      origins[i] = isThere ? next++ : -1;
    }
    boolean isRestGone = Arrays.stream(from, next, from.length).allMatch(size -> size == 1);
    return isRestGone && open <= 1 ? origins : null;
  }

  // ---- operations that do not mind ----

  private boolean isMoved(Operation operation) {
    View first = null;
    for (int input : operation.inputs()) {
      View view = views.get(input);
      first = first == null ? view : first;
    }
    if (first == null) {
      return false;
    }
    if (isElementwise(operation.type())) {
      return isElementwise(operation, first.order());
    }
    if (!operation.outputs().stream().allMatch(this::canBeTransposed)) {
      return false;
    }
    OperationType type = operation.type();
    if (type == OperationCode.CONCATENATION || type == ThalamusExtension.CONCATENATION) {
      return isConcatenated(operation, first.order());
    }
    View view = views.get(operation.inputs().getFirst());
    if (view == null) {
      return false;
    }
    if (type == ThalamusExtension.MIRROR_PAD) {
      return isPadded(operation, view);
    }
    if (!(type instanceof OperationCode code)) {
      return false;
    }
    return switch (code) {
      case PAD, PAD_V2 -> isPadded(operation, view);
      case MEAN, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD -> isReduced(operation, view);
      case SOFTMAX, LOG_SOFTMAX -> isAlongAxis(operation, 2, view);
      case GATHER ->
          operand(operation.inputs().get(2)).shape().rank() == 1 && isAlongAxis(operation, 1, view);
      case SPLIT -> isAlongAxis(operation, 1, view);
      case LOCAL_RESPONSE_NORMALIZATION -> isAlongAxis(operation, 5, view);
      case SLICE -> isSliced(operation, view);
      default -> false;
    };
  }

  private static boolean isElementwise(OperationType operation) {
    if (!(operation instanceof OperationCode type)) {
      return operation == ThalamusExtension.ERF || operation == ThalamusExtension.QUANTIZE;
    }
    return switch (type) {
      case ABS,
          NEG,
          EXP,
          LOG,
          SQRT,
          RSQRT,
          SIN,
          FLOOR,
          RELU,
          RELU1,
          RELU6,
          LOGISTIC,
          TANH,
          ELU,
          HARD_SWISH,
          CAST,
          LOGICAL_NOT,
          ADD,
          SUB,
          MUL,
          DIV,
          MAXIMUM,
          MINIMUM,
          POW,
          PRELU,
          EQUAL,
          NOT_EQUAL,
          LESS,
          LESS_EQUAL,
          GREATER,
          GREATER_EQUAL,
          LOGICAL_AND,
          LOGICAL_OR,
          SELECT,
          DEQUANTIZE ->
          true;
      default -> false;
    };
  }

  /** Returns whether NNAPI's transpose takes a value, should it have to be made. */
  private boolean canBeTransposed(int index) {
    OperandType type = operand(index).type();
    return type == OperandCode.TENSOR_FLOAT32
        || type == OperandCode.TENSOR_FLOAT16
        || type == OperandCode.TENSOR_QUANT8_ASYMM
        || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }

  /** Adds an operation on sources; its results are views in the same order. */
  private void add(OperationType type, List<Integer> inputs, List<Integer> results, int[] order) {
    List<Integer> outputs = new ArrayList<>();
    for (int result : results) {
      Operand known = operand(result);
      Shape shape = Shape.of(Dims.permute(known.shape().toArray(), Dims.inverse(order)));
      int output = built.temporary("", known.type(), shape, known.quantization());
      outputs.add(output);
      views.put(result, new View(output, order));
    }
    built.operation(type, inputs, outputs);
  }

  private boolean isElementwise(Operation operation, int[] order) {
    int rank = operand(operation.outputs().getFirst()).shape().rank();
    if (rank != order.length
        || !operation.inputs().stream().allMatch(input -> isMovable(input, order))) {
      return false;
    }
    List<Integer> inputs =
        operation.inputs().stream().map(input -> inOrderOf(input, order)).toList();
    add(operation.type(), inputs, operation.outputs(), order);
    int result = operation.outputs().getFirst();
    if (!canBeTransposed(result)) {
      repeatable.put(result, operation);
    }
    return true;
  }

  private boolean isMovable(int index, int[] order) {
    Operand operand = operand(index);
    View view = views.get(index);
    return !operand.type().isTensor()
        || (view != null
            ? Arrays.equals(view.order(), order)
            : operand.lifetime() instanceof Lifetime.Constant
                ? operand.shape().rank() <= order.length
                : isInOrder(index, order));
  }

  /** Returns an operand in the order of the sources. */
  private int inOrderOf(int index, int[] order) {
    Operand operand = operand(index);
    View view = views.get(index);
    if (!operand.type().isTensor()) {
      return index;
    }
    return view != null
        ? view.source()
        : operand.lifetime() instanceof Lifetime.Constant constant
            ? moved(operand, constant, order)
            : reshaped(index, order);
  }

  /**
   * Returns whether a computed value has its elements in the same order in that of the sources, as
   * a factor for each channel has.
   */
  private boolean isInOrder(int index, int[] order) {
    Operand operand = operand(index);
    if (!canBeTransposed(index)
        || operand.shape().rank() > order.length
        || !operand.shape().isFullySpecified()) {
      return false;
    }
    return Dims.isInOrder(shape(operand, order.length), Dims.inverse(order));
  }

  private int reshaped(int index, int[] order) {
    Operand known = operand(index);
    int[] target = Dims.permute(shape(known, order.length), Dims.inverse(order));
    int output = built.temporary("", known.type(), Shape.of(target), known.quantization());
    List<Integer> inputs = List.of(index, built.int32Vector(target));
    built.operation(OperationCode.RESHAPE, inputs, List.of(output));
    return output;
  }

  /** The shape of an operand with as many dimensions. */
  private static int[] shape(Operand operand, int rank) {
    int[] own = operand.shape().toArray();
    return Dims.join(Dims.ones(rank - own.length), own);
  }

  /** A constant in the order of the sources. */
  private int moved(Operand operand, Lifetime.Constant constant, int[] order) {
    int rank = order.length;
    int[] shape = shape(operand, rank);
    int[] back = Dims.inverse(order);
    int[] target = Dims.permute(shape, back);
    int[] steps = Dims.permute(Dims.strides(shape), back);
    Grid grid = grids.get(constant);
    boolean isStored = grid != null && grid.isPerTensor();
    int width = isStored ? 1 : operand.type().elementSize();
    MemorySegment from = isStored ? constant.bytes() : QuantizedConstants.reals(operand, grids);
    byte[] bytes = new byte[(int) from.byteSize()];
    int[] at = new int[rank];
    int place = 0;
    for (int i = 0; i < bytes.length; i += width) {
      MemorySegment.copy(from, ValueLayout.JAVA_BYTE, (long) place * width, bytes, i, width);
      for (int d = rank - 1; d >= 0; d--) {
        place += steps[d];
        if (++at[d] < target[d]) {
          break;
        }
        place -= target[d] * steps[d];
        at[d] = 0;
      }
    }
    Lifetime.Constant moved = new ConstantCopy(bytes);
    if (isStored) {
      grids.put(moved, grid);
    }
    return built.constant("", operand.type(), Shape.of(target), operand.quantization(), moved);
  }

  private boolean isConcatenated(Operation operation, int[] order) {
    int last = operation.inputs().size() - 1;
    int[] axis = constant(operation, last);
    List<Integer> inputs = new ArrayList<>();
    for (int input : operation.inputs().subList(0, last)) {
      View view = views.get(input);
      if (view != null && Arrays.equals(view.order(), order)) {
        inputs.add(view.source());
      } else if (view == null && operand(input).lifetime() instanceof Lifetime.Constant constant) {
        inputs.add(moved(operand(input), constant, order));
      } else {
        return false;
      }
    }
    inputs.add(built.int32(order[axis[0]]));
    add(operation.type(), inputs, operation.outputs(), order);
    return true;
  }

  private boolean isPadded(Operation operation, View view) {
    int[] order = view.order();
    int[] known = constant(operation, 1);
    if (known == null) {
      return false;
    }
    int[] changed = new int[known.length];
    for (int i = 0; i < order.length; i++) {
      changed[2 * order[i]] = known[2 * i];
      changed[2 * order[i] + 1] = known[2 * i + 1];
    }
    return isAdded(operation, view, 1, built.int32Tensor(Shape.of(order.length, 2), changed));
  }

  private boolean isReduced(Operation operation, View view) {
    int[] order = view.order();
    int[] axes = constant(operation, 1);
    int rank = operand(operation.outputs().getFirst()).shape().rank();
    if (axes == null || rank != order.length || !isTrue(operation, 2)) {
      return false;
    }
    int[] moved = Arrays.stream(axes).map(axis -> order[axis < 0 ? axis + rank : axis]).toArray();
    return isAdded(operation, view, 1, built.int32Vector(moved));
  }

  private boolean isTrue(Operation operation, int input) {
    return operand(operation.inputs().get(input)).lifetime() instanceof Lifetime.Constant value
        && value.bytes().get(ValueLayout.JAVA_BYTE, 0) != 0;
  }

  private boolean isAlongAxis(Operation operation, int argument, View view) {
    int[] order = view.order();
    int[] axis = argument < operation.inputs().size() ? constant(operation, argument) : null;
    if (axis == null) {
      return false;
    }
    int counted = axis[0] < 0 ? axis[0] + order.length : axis[0];
    for (int i = 1; i < operation.inputs().size(); i++) {
      make(operation.inputs().get(i));
    }
    return isAdded(operation, view, argument, built.int32(order[counted]));
  }

  /** Adds an operation on the source of a view, with another argument. */
  private boolean isAdded(Operation operation, View view, int argument, int value) {
    List<Integer> inputs = new ArrayList<>(operation.inputs());
    inputs.set(0, view.source());
    inputs.set(argument, value);
    add(operation.type(), inputs, operation.outputs(), view.order());
    return true;
  }

  private boolean isSliced(Operation operation, View view) {
    int[] begin = constant(operation, 1);
    int[] size = constant(operation, 2);
    if (begin == null || size == null) {
      return false;
    }
    int[] back = Dims.inverse(view.order());
    add(
        operation.type(),
        List.of(
            view.source(),
            built.int32Vector(Dims.permute(begin, back)),
            built.int32Vector(Dims.permute(size, back))),
        operation.outputs(),
        view.order());
    return true;
  }

  // ---- constants ----

  /** The integers of a constant input; null where it is computed. */
  private int[] constant(Operation operation, int input) {
    Operand operand = operand(operation.inputs().get(input));
    boolean isInteger =
        operand.type() == OperandCode.TENSOR_INT32 || operand.type() == OperandCode.INT32;
    return isInteger && operand.lifetime() instanceof Lifetime.Constant
        ? OperandView.of(operand).int32s()
        : null;
  }
}
