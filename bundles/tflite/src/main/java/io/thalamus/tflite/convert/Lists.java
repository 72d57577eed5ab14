// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Shape;
import java.util.stream.IntStream;

/**
 * TensorFlow's lists of tensors, which recurrent layers of Keras keep their steps in when they are
 * exported with SELECT_TF_OPS. A list is one tensor, and its elements are the rows; see {@link
 * Rows}. The places of elements must be known while the file is read, as they are in loops that are
 * written out.
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
    return node.graph().rows().rows(node.graph(), node.unwritten(0));
  }

  private static int place(Node node) {
    int place = node.onlyInt(1);
    int count = count(node);
    node.require(
        place >= 0 && place < count, "its list has %d elements and no %d".formatted(count, place));
    return place;
  }

  private static void get(Node node) {
    node.graph().rows().giveRow(node, node.unwritten(0), place(node));
  }

  private static void set(Node node) {
    int place = place(node);
    int row = node.in(2);
    if (!node.isScalar(node.input(2))) {
      IntStream rest = IntStream.of(node.operand(row).shape().toArray());
      Shape shape = Shape.of(IntStream.concat(IntStream.of(1), rest).toArray());
      row = Reshape.reshaped(node, row, shape);
    }
    node.graph().rows().giveReplaced(node, node.unwritten(0), place, row);
  }
}
