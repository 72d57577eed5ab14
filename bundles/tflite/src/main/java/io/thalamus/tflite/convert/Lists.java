// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.Selection.Update;
import java.util.stream.IntStream;

/**
 * TensorFlow's lists of tensors, which recurrent layers of Keras keep their steps in when they are
 * exported with SELECT_TF_OPS. A list is one tensor, and its elements are the rows; see {@link
 * Rows}. Elements whose places are known while the file is read, as in loops that are written out,
 * take no operations.
 */
final class Lists {
  private Lists() {}

  static void addTo(Converters table) {
    table.addCustom("FlexTensorListReserve", Lists::reserve);
    table.addCustom("FlexTensorListFromTensor", Lists::whole);
    table.addCustom("FlexTensorListStack", Lists::whole);
    table.addCustom("FlexTensorListLength", Lists::length);
    table.addCustom("FlexTensorListGetItem", Lists::get);
    table.addCustom("FlexTensorListSetItem", Lists::set);
  }

  private static void reserve(Node node) {
    int count = node.onlyInt(1);
    node.require(count >= 0, "its list would have " + count + " elements");
    node.alias(0, node.graph().rows().reserved(node, count));
  }

  /** A list and the tensor of its rows are the same. */
  private static void whole(Node node) {
    node.alias(0, node.unwritten(0));
  }

  private static void length(Node node) {
    node.alias(0, node.int32Tensor(Shape.of(1), count(node)));
  }

  private static int count(Node node) {
    int list = node.unwritten(0);
    Shape shape = node.operand(list).shape();
    node.require(
        shape.rank() == 0 || shape.dimension(0) > 0,
        "the number of its list's elements is not known beforehand");
    return node.graph().rows().rows(node.graph(), list);
  }

  private static int place(Node node) {
    int place = node.onlyInt(1);
    int count = count(node);
    node.require(
        place >= 0 && place < count, "its list has %d elements and no %d".formatted(count, place));
    return place;
  }

  private static void get(Node node) {
    if (node.isKnown(1)) {
      node.graph().rows().giveRow(node, node.unwritten(0), place(node));
      return;
    }
    int list = node.graph().written(node.unwritten(0));
    Operand like = node.operand(list);
    Rows.giveElement(
        node,
        node.compute(
            OperationCode.GATHER,
            like,
            like.shape().with(0, 1),
            list,
            node.int32(0),
            Reshape.reshaped(node, node.in(1), Shape.of(1))));
  }

  private static void set(Node node) {
    int row = node.in(2);
    if (!node.isScalar(node.input(2))) {
      IntStream rest = IntStream.of(node.operand(row).shape().toArray());
      Shape shape = Shape.of(IntStream.concat(IntStream.of(1), rest).toArray());
      row = Reshape.reshaped(node, row, shape);
    }
    Rows rows = node.graph().rows();
    if (node.isKnown(1)) {
      rows.giveReplaced(node, node.unwritten(0), place(node), row);
      return;
    }
    int list = rows.written(node.graph(), node.unwritten(0), node.operand(row));
    Rows.requireAlike(node, row, list);
    int place = Reshape.reshaped(node, node.in(1), Shape.of(1, 1));
    node.alias(0, Scatter.scattered(node, list, place, row, Update.REPLACE));
  }
}
