// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ReducerOptions;

/** Mean, sum, product, extremes and logic over some dimensions. */
final class Reduction {
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
    ReducerOptions options = node.options(BuiltinOptions.ReducerOptions, new ReducerOptions());
    boolean keep = node.get(options::keepDims);
    int[] axes = axes(node);
    InFloat.unlessQuantizedAlike(
        node,
        (input, output) -> {
          // MEAN came first, and says with an integer what the others say with a BOOL.
          int keepDims = code == OperationCode.MEAN ? node.int32(keep ? 1 : 0) : node.bool(keep);
          node.emit(code, List.of(input, node.int32Vector(axes), keepDims), output);
        });
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
