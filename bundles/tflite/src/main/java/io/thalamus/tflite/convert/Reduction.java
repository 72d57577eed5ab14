// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.ReducerOptions;

/** Mean, sum, product, extremes and logic over some dimensions. */
final class Reduction {
  private static final int MAX_RANK = 4;

  private Reduction() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.MEAN, node -> reduce(node, OperationCode.MEAN));
    table.add(BuiltinOperator.SUM, node -> reduce(node, OperationCode.REDUCE_SUM));
    table.add(BuiltinOperator.REDUCE_PROD, node -> reduce(node, OperationCode.REDUCE_PROD));
    table.add(BuiltinOperator.REDUCE_MAX, node -> reduce(node, OperationCode.REDUCE_MAX));
    table.add(BuiltinOperator.REDUCE_MIN, node -> reduce(node, OperationCode.REDUCE_MIN));
    table.add(BuiltinOperator.REDUCE_ANY, node -> reduce(node, OperationCode.REDUCE_ANY));
    table.add(BuiltinOperator.REDUCE_ALL, node -> reduce(node, OperationCode.REDUCE_ALL));
  }

  private static void reduce(Node node, OperationCode code) throws ModelFormatException {
    ReducerOptions options = node.options(new ReducerOptions());
    boolean keep = node.get(options::keepDims);
    int[] axes = axes(node);
    FloatFallback.unlessQuantizedAlike(
        node,
        (input, output) -> {
          if (node.operand(input).shape().rank() > MAX_RANK) {
            reduceJoined(node, code, input, axes, output);
            return;
          }
          node.emit(code, List.of(input, node.int32Vector(axes), kept(node, code, keep)), output);
        });
  }

  /** MEAN came first, and says with an integer what the others say with a BOOL. */
  private static int kept(Node node, OperationCode code, boolean keep) {
    return code == OperationCode.MEAN ? node.int32(keep ? 1 : 0) : node.bool(keep);
  }

  /** Neighbouring dimensions are joined where both are reduced, or both are not. */
  private static void reduceJoined(Node node, OperationCode code, int input, int[] axes, int output)
      throws ModelFormatException {
    Operand data = node.operand(input);
    Operand target = node.operand(output);
    Set<Integer> reduced = Arrays.stream(axes).boxed().collect(Collectors.toSet());
    List<Integer> dimensions = new ArrayList<>();
    List<Integer> joinedAxes = new ArrayList<>();
    List<Integer> results = new ArrayList<>();
    for (int i = 0; i < data.shape().rank(); i++) {
      boolean isReduced = reduced.contains(i);
      if (i > 0 && reduced.contains(i - 1) == isReduced) {
        int last = dimensions.size() - 1;
        dimensions.set(last, Math.multiplyExact(dimensions.get(last), data.shape().dimension(i)));
      } else {
        dimensions.add(data.shape().dimension(i));
        if (isReduced) {
          joinedAxes.add(dimensions.size() - 1);
        }
      }
    }
    for (int i = 0; i < dimensions.size(); i++) {
      results.add(joinedAxes.contains(i) ? 1 : dimensions.get(i));
    }
    node.require(
        data.shape().isFullySpecified() && dimensions.size() <= MAX_RANK,
        "it reduces data of shape " + data.shape() + "; NNAPI has at most 4 dimensions");
    int joined = Reshape.reshaped(node, input, shape(dimensions));
    int result = node.temporary(target, shape(results));
    int[] along = joinedAxes.stream().mapToInt(Integer::intValue).toArray();
    node.emit(code, List.of(joined, node.int32Vector(along), kept(node, code, true)), result);
    Reshape.emit(node, result, output);
  }

  private static Shape shape(List<Integer> dimensions) {
    return Shape.of(dimensions.stream().mapToInt(Integer::intValue).toArray());
  }

  private static int[] axes(Node node) throws ModelFormatException {
    int rank = node.shapeOf(0).rank();
    List<Integer> axes = new ArrayList<>();
    for (int axis : node.ints(1)) {
      int counted = node.axis(axis, rank);
      if (!axes.contains(counted)) {
        axes.add(counted);
      }
    }
    node.require(!axes.isEmpty(), "it reduces no dimension");
    return axes.stream().mapToInt(Integer::intValue).toArray();
  }
}
