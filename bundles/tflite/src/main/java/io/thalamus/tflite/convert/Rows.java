// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder.Mark;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.GatherOptions;

/**
 * Tensors that are put together of rows of others only when an operation reads them. A loop that is
 * written out replaces one row of a list in each round, by slices and a concatenation of the whole:
 * what is left of them is one concatenation behind the last round. Not thread-safe.
 */
final class Rows {
  private static final int MOST_PIECES = 1 << 10;

  private final Map<Integer, Joined> joined = new HashMap<>();

  /** Stands for the operand of rows that have no value yet. */
  private static final int NONE = -1;

  /** Neighbouring rows of a tensor. */
  private record Piece(int operand, int begin, int size) {}

  /**
   * A tensor and its rows.
   *
   * @param written the operand that holds it; -1 when none does yet
   * @param place the number of operations before the one that writes it
   */
  private record Joined(List<Piece> pieces, int written, int place) {}

  /** Forgets what is no longer there. */
  void truncate(Mark mark) {
    joined.keySet().removeIf(operand -> operand >= mark.operands());
    joined.replaceAll(
        (_, tensor) ->
            tensor.place >= mark.operations() ? new Joined(tensor.pieces, -1, -1) : tensor);
  }

  /** Returns an operand that operations can read, with the operations that put it together. */
  int written(GraphConverter graph, int operand) {
    Joined tensor = joined.get(operand);
    if (tensor == null) {
      return operand;
    }
    if (tensor.written >= 0) {
      return tensor.written;
    }
    if (tensor.pieces.isEmpty()) {
      throw new Refusal("it reads a tensor without elements");
    }
    int written = written(graph, graph.builder().get(operand), tensor.pieces);
    int place = graph.builder().mark().operations() - 1;
    joined.put(operand, new Joined(tensor.pieces, written, place));
    return written;
  }

  private int written(GraphConverter graph, Operand like, List<Piece> pieces) {
    if (pieces.size() == 1) {
      return whole(graph, like, pieces.getFirst());
    }
    List<Integer> inputs = new ArrayList<>();
    for (Piece piece : pieces) {
      inputs.add(whole(graph, like, piece));
    }
    inputs.add(graph.builder().int32(0));
    OperationType operation =
        Strided.isBeyond(like) ? ThalamusExtension.CONCATENATION : OperationCode.CONCATENATION;
    int written = graph.builder().temporary("", like.type(), like.shape(), like.quantization());
    graph.emit(operation, inputs, List.of(written));
    return written;
  }

  private boolean isWhole(GraphConverter graph, Piece piece) {
    return piece.operand != NONE && piece.size == rows(graph, piece.operand);
  }

  /** An operand that has the rows of a piece and no others; rows without a value are zeros. */
  private int whole(GraphConverter graph, Operand like, Piece piece) {
    if (piece.operand == NONE) {
      return zeros(graph, like, piece.size);
    }
    return isWhole(graph, piece) ? piece.operand : cut(graph, piece);
  }

  private static int zeros(GraphConverter graph, Operand like, int count) {
    Shape shape = like.shape();
    if (shape.rank() == 0) {
      throw new Refusal("it reads elements of a list which nothing has set");
    }
    byte[] zero = Constants.element(like.type(), like.quantization().zeroPoint());
    int number =
        graph
            .builder()
            .constant("", like.type(), Shape.of(1), like.quantization(), new ConstantCopy(zero));
    return strided(graph, number, shape.with(0, count), new int[shape.rank()], 0);
  }

  /** Returns the number of rows of an operand. */
  int rows(GraphConverter graph, int operand) {
    Joined tensor = joined.get(operand);
    return tensor == null
        ? graph.builder().get(operand).shape().dimension(0)
        : count(tensor.pieces);
  }

  /** The number of rows; a loop that is written out may join more than can be counted. */
  private static int count(List<Piece> pieces) {
    return Math.toIntExact(pieces.stream().mapToLong(Piece::size).sum());
  }

  private static int cut(GraphConverter graph, Piece piece) {
    Operand whole = graph.builder().get(piece.operand);
    Shape shape = whole.shape().with(0, piece.size);
    int[] strides = Arrays.stream(StridedCopy.strides(shape)).mapToInt(Math::toIntExact).toArray();
    int begin = Math.multiplyExact(piece.begin, strides[0]);
    return strided(graph, piece.operand, shape, strides, begin);
  }

  private static int strided(
      GraphConverter graph, int operand, Shape shape, int[] strides, int begin) {
    Operand whole = graph.builder().get(operand);
    int part = graph.builder().temporary("", whole.type(), shape, whole.quantization());
    graph.emit(
        ThalamusExtension.AS_STRIDED,
        List.of(
            operand,
            graph.builder().int32Vector(shape.toArray()),
            graph.builder().int32Vector(strides),
            graph.builder().int32(begin)),
        List.of(part));
    return part;
  }

  /** Some rows of an operand, as those of the tensors that it is put together of. */
  private List<Piece> taken(int operand, int begin, int count) {
    Joined tensor = joined.get(operand);
    if (tensor == null) {
      return count == 0 ? List.of() : List.of(new Piece(operand, begin, count));
    }
    List<Piece> taken = new ArrayList<>();
    int place = 0;
    for (Piece piece : tensor.pieces) {
      int from = Math.max(begin, place);
      int to = Math.min(begin + count, place + piece.size);
      if (from < to) {
        taken.add(
            from == place && to == place + piece.size
                ? piece
                : new Piece(piece.operand, piece.begin + from - place, to - from));
      }
      place += piece.size;
    }
    return taken;
  }

  /** Lets rows stand for the output, in the form of an operand. */
  private boolean keep(Node node, Operand like, List<Piece> pieces) {
    if (pieces.size() > MOST_PIECES) {
      return false;
    }
    if (pieces.size() == 1 && isWhole(node.graph(), pieces.getFirst())) {
      node.graph().alias(node.output(0), pieces.getFirst().operand);
      return true;
    }
    int rows = count(pieces);
    Shape shape = like.shape().with(0, rows);
    int operand =
        node.builder()
            .operand(new Operand(like.type(), shape, like.quantization(), Lifetime.NO_VALUE, ""));
    joined.put(operand, new Joined(pieces, -1, -1));
    node.graph().alias(node.output(0), operand);
    return true;
  }

  /**
   * Notes what an operator does with rows instead of adding operations, if that is all that it
   * does.
   */
  boolean compute(Node node) {
    return switch (node.operator().kind().code()) {
      case BuiltinOperator.SLICE -> slice(node);
      case BuiltinOperator.GATHER -> gather(node);
      case BuiltinOperator.CONCATENATION -> concatenation(node);
      case BuiltinOperator.DYNAMIC_UPDATE_SLICE -> update(node);
      default -> false;
    };
  }

  private boolean slice(Node node) {
    if (!isPlain(node, 0) || !node.isKnown(1) || !node.isKnown(2)) {
      return false;
    }
    int input = node.unwritten(0);
    int[] shape = node.operand(input).shape().toArray();
    shape[0] = rows(node.graph(), input);
    int[] begin = node.ints(1);
    int[] size = node.ints(2);
    boolean isOfRows = begin.length == shape.length && size.length == shape.length;
    for (int i = 0; isOfRows && i < shape.length; i++) {
      size[i] = size[i] == -1 ? shape[i] - begin[i] : size[i];
      isOfRows =
          begin[i] >= 0
              && size[i] >= 0
              && begin[i] <= shape[i] - size[i]
              && (i == 0 || size[i] == shape[i]);
    }
    return isOfRows && keep(node, node.operand(input), taken(input, begin[0], size[0]));
  }

  /** One row, of which the dimension of rows is left out. */
  private boolean gather(Node node) {
    GatherOptions options = node.options(new GatherOptions());
    if (!isPlain(node, 0)
        || !node.isKnown(1)
        || node.get(options::axis) != 0
        || node.get(options::batchDims) != 0
        || !node.isScalar(node.input(1))) {
      return false;
    }
    int input = node.unwritten(0);
    int[] shape = node.operand(input).shape().toArray();
    int index = node.onlyInt(1);
    if (index < 0 || index >= rows(node.graph(), input) || shape.length < 2) {
      return false;
    }
    giveRow(node, input, index);
    return true;
  }

  /** Lets a row stand for the output, without the dimension of rows. */
  void giveRow(Node node, int operand, int index) {
    Piece piece = taken(operand, index, 1).getFirst();
    giveElement(node, whole(node.graph(), node.operand(operand), piece));
  }

  /** Lets a tensor of one row stand for the output, without the dimension of rows. */
  static void giveElement(Node node, int row) {
    int[] shape = node.operand(row).shape().toArray();
    // A single number has the shape of a vector of one.
    Shape rest = Shape.of(Arrays.copyOfRange(shape, Math.min(1, shape.length - 1), shape.length));
    node.graph().alias(node.output(0), Reshape.reshaped(node, row, rest));
  }

  private boolean concatenation(Node node) {
    ConcatenationOptions options = node.options(new ConcatenationOptions());
    if (node.get(options::axis) != 0
        || node.get(options::fusedActivationFunction) != ActivationFunctionType.NONE) {
      return false;
    }
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < node.inputCount(); i++) {
      if (!isPlain(node, i) || !isAlike(node, i)) {
        return false;
      }
      int input = node.unwritten(i);
      pieces.addAll(taken(input, 0, rows(node.graph(), input)));
    }
    return !pieces.isEmpty() && keep(node, node.operand(node.unwritten(0)), pieces);
  }

  private boolean update(Node node) {
    if (!isPlain(node, 0) || !isPlain(node, 1) || !isAlike(node, 1) || !node.isKnown(2)) {
      return false;
    }
    int input = node.unwritten(0);
    int update = node.unwritten(1);
    int[] start = node.ints(2);
    int all = rows(node.graph(), input);
    int count = rows(node.graph(), update);
    if (start.length != node.operand(input).shape().rank() || count > all) {
      return false;
    }
    int begin = Math.clamp(start[0], 0, all - count);
    return keep(node, node.operand(input), replaced(node, input, begin, update));
  }

  /** The rows of a tensor, of which some are those of another. */
  private List<Piece> replaced(Node node, int operand, int begin, int update) {
    int count = rows(node.graph(), update);
    List<Piece> pieces = new ArrayList<>(taken(operand, 0, begin));
    pieces.addAll(taken(update, 0, count));
    int end = begin + count;
    pieces.addAll(taken(operand, end, rows(node.graph(), operand) - end));
    return pieces;
  }

  /** Makes a tensor of rows that have no value yet, nor a type. */
  int reserved(Node node, int count) {
    Operand unknown =
        new Operand(OperandCode.TENSOR_INT32, Shape.NONE, Quantization.NONE, Lifetime.NO_VALUE, "");
    int operand = node.builder().operand(unknown);
    List<Piece> pieces = count == 0 ? List.of() : List.of(new Piece(NONE, 0, count));
    joined.put(operand, new Joined(pieces, -1, -1));
    return operand;
  }

  /** Returns whether an operand is a list of which nothing is set, and nothing known. */
  boolean isUnset(int operand) {
    Joined tensor = joined.get(operand);
    return tensor != null
        && !tensor.pieces.isEmpty()
        && tensor.pieces.stream().allMatch(piece -> piece.operand == NONE);
  }

  /**
   * The same as {@link #written(GraphConverter, int)} for a list of which nothing may be set.
   *
   * @param like a tensor of such elements
   */
  int written(GraphConverter graph, int operand, Operand like) {
    return isUnset(operand) ? zeros(graph, like, rows(graph, operand)) : written(graph, operand);
  }

  /**
   * Lets a tensor in which one row is replaced stand for the output.
   *
   * @throws Refusal where it is not like the others, or they are too many
   */
  void giveReplaced(Node node, int operand, int index, int row) {
    List<Piece> pieces = replaced(node, operand, index, row);
    for (Piece piece : pieces) {
      if (piece.operand != NONE) {
        requireAlike(node, row, piece.operand);
      }
    }
    node.require(
        keep(node, node.operand(row), pieces),
        "its list is of more than " + MOST_PIECES + " elements");
  }

  /** Requires that the rows of two operands can stand in one list. */
  static void requireAlike(Node node, int row, int other) {
    node.require(
        isAlike(node.operand(row), node.operand(other)),
        "the elements of its list differ in type or shape");
  }

  /** Returns whether an input has rows of known dimensions. */
  private boolean isPlain(Node node, int input) {
    if (!node.has(input)) {
      return false;
    }
    int operand = node.unwritten(input);
    Shape shape = node.operand(operand).shape();
    return shape.rank() > 0 && (shape.isFullySpecified() || joined.containsKey(operand));
  }

  /** Returns whether an input has rows like those of the first. */
  private static boolean isAlike(Node node, int input) {
    return isAlike(node.operand(node.unwritten(0)), node.operand(node.unwritten(input)));
  }

  private static boolean isAlike(Operand first, Operand other) {
    return first.type() == other.type()
        && first.quantization().equals(other.quantization())
        && first.shape().rank() == other.shape().rank()
        && first.shape().with(0, 1).equals(other.shape().with(0, 1));
  }
}
