// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.List;

/**
 * The operators of {@link OpenOperators} that ask for each place which others belong to it: they
 * compare all pairs of places.
 */
final class OpenIndexes {
  private OpenIndexes() {}

  // ---- replaced elements ----

  static void scatterElements(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = ops.cast(node.openIn(1), DataType.INT32);
    int width = Dims.count(data.shape(), 1, data.rank());
    node.require(
        width > 0
            && indexes.rank() == data.rank()
            && node.axis(node.setting("axis", 0), data.rank()) == 0
            && Dims.count(indexes.shape(), 1, indexes.rank()) == width,
        "it is of " + data.text() + " and " + indexes.text());
    Value places = indexes;
    if (data.rank() > 1) {
      Value reals = ops.cast(indexes, DataType.FLOAT);
      places = ofRows(ops, ops.reshape(reals, indexes.dim(0), width));
    }
    Value size = ops.cast(OpenSizes.size(ops, data, 0), DataType.INT32);
    Value updates = node.openIn(2);
    Value result =
        scattered(
            node,
            ops.reshape(data, data.dim(0), width),
            Indexing.counted(ops, places, size),
            ops.reshape(updates, updates.dim(0), width));
    node.out(ops.reshape(result, data.shape()));
  }

  /**
   * The number that each row consists of, as PyTorch spreads the places of rows; the execution
   * fails where a row has two, since elements with places of their own would cost a comparison
   * each.
   */
  private static Value ofRows(Ops ops, Value rows) {
    Value least = OpenSizes.reduce(ops, OperationCode.REDUCE_MIN, rows, 1);
    Value most = OpenSizes.reduce(ops, OperationCode.REDUCE_MAX, rows, 1);
    Value isOne = ops.binary(Binary.EQUAL, least, most);
    Value beyond = ops.cast(ops.not(isOne), DataType.INT32);
    Value nothing = ops.gather(ops.integers(new int[] {1}, 0), 0, beyond);
    Value places = ops.cast(least, DataType.INT32);
    return ops.add(places, nothing);
  }

  static void scatterNd(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = ops.cast(node.openIn(1), DataType.INT32);
    int depth = indexes.rank() == 2 ? indexes.dim(1) : 0;
    node.require(depth > 0 && depth <= data.rank(), "its indexes do not fit " + data.text());
    Value places = null;
    int stride = 1;
    for (int i = depth - 1; i >= 0; i--) {
      node.require(i == 0 || data.dim(i) > 0, data.text() + " is open behind its first axis");
      Value column = ops.gather(indexes, 1, ops.number(DataType.INT32, i));
      Value size = ops.cast(OpenSizes.size(ops, data, i), DataType.INT32);
      Value counted = Indexing.counted(ops, column, size);
      Value part = ops.mul(counted, ops.number(DataType.INT32, stride));
      places = places == null ? part : ops.add(places, part);
      stride = i == 0 ? stride : Math.multiplyExact(stride, data.dim(i));
    }
    int width = Dims.count(data.shape(), depth, data.rank());
    int rows = Dims.count(data.shape(), 0, depth);
    Value updates = node.openIn(2);
    Value result =
        scattered(
            node,
            ops.reshape(data, rows, width),
            places,
            ops.reshape(updates, indexes.dim(0), width));
    node.out(ops.reshape(result, data.shape()));
  }

  /**
   * Rows with updates. An update of nothing comes first, so that there is always one.
   *
   * @param places for each update the row that it is meant for
   */
  private static Value scattered(Node node, Value rows, Value places, Value updates) {
    Ops ops = node.ops();
    String reduction = node.text("reduction", "none");
    boolean isSum = reduction.equals("add");
    node.require(isSum || reduction.equals("none"), "its reduction is " + reduction);
    node.require(rows.type() == updates.type(), "its updates are of another type");
    Value nobody = ops.integers(new int[] {1}, -1);
    Value meant = ops.concat(List.of(nobody, places), 0);
    Value nothing = ops.fill(updates.type(), new int[] {1, updates.dim(1)}, 0);
    Value all = ops.concat(List.of(nothing, updates), 0);
    Value isMeant =
        ops.binary(
            Binary.EQUAL,
            OpenSizes.along(ops, OpenSizes.places(ops, rows, 0), 2, 0),
            OpenSizes.along(ops, meant, 2, 1));
    if (isSum) {
      Value each = ops.cast(isMeant, rows.type());
      return ops.add(rows, ops.multiply(each, all, false));
    }
    Value numbers =
        OpenSizes.along(ops, ops.cast(OpenSizes.places(ops, meant, 0), DataType.FLOAT), 2, 1);
    Value order = ops.mul(ops.cast(isMeant, DataType.FLOAT), numbers);
    Value last = OpenSizes.reduce(ops, OperationCode.REDUCE_MAX, order, 1);
    Value taken = ops.gather(all, 0, ops.cast(last, DataType.INT32));
    Value isHit =
        ops.binary(Binary.GREATER, OpenSizes.along(ops, last, 2, 0), ops.number(DataType.FLOAT, 0));
    return ops.select(isHit, taken, rows);
  }

  // ---- order ----

  /**
   * A row in order: the place of each element is how many come before it.
   *
   * @param count how many are wanted, as one number
   */
  static void sort(Node node, Value row, Value count) {
    Ops ops = node.ops();
    Binary isBefore = node.flag("largest", true) ? Binary.GREATER : Binary.LESS;
    Value places = OpenSizes.places(ops, row, 0);
    Value other = OpenSizes.along(ops, row, 2, 1);
    Value own = OpenSizes.along(ops, row, 2, 0);
    Value isEqual =
        ops.binary(
            Binary.AND,
            ops.binary(Binary.EQUAL, other, own),
            ops.binary(
                Binary.LESS,
                OpenSizes.along(ops, places, 2, 1),
                OpenSizes.along(ops, places, 2, 0)));
    Value isFirst = ops.binary(Binary.OR, ops.binary(isBefore, other, own), isEqual);
    Value number = ops.cast(isFirst, DataType.FLOAT);
    Value before = OpenSizes.reduce(ops, OperationCode.REDUCE_SUM, number, 1);
    Value line = OpenSizes.along(ops, ops.cast(places, DataType.FLOAT), 2, 0);
    Value isThere = ops.binary(Binary.EQUAL, line, OpenSizes.along(ops, before, 2, 1));
    // Row by row the place of the element that belongs there, of which there is one.
    Value found = OpenSizes.found(ops, isThere, new int[] {0, 2}, false);
    Value order = ops.cast(ops.gather(found, 1, ops.number(DataType.INT32, 1)), DataType.INT64);
    Value sorted = ops.gather(row, 0, ops.cast(order, DataType.INT32));
    node.out(0, OpenSizes.part(ops, sorted, 0, 0, count));
    node.out(1, OpenSizes.part(ops, order, 0, 0, count));
  }
}
