// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.Padding;

/**
 * MediaPipe's own operators that pool and tell the places of the maxima, and that put values back
 * to such places. Windows lie side by side. A place is the number of an element in its window, as a
 * real number that is a tenth larger.
 */
final class ArgmaxPooling {
  private static final int NO_ACTIVATION = 0;
  private static final int VALID = 2;
  private static final int SETTINGS = 6 * Integer.BYTES;
  private static final float TENTH = 0.1f;
  private static final int RANK = 4;

  /** Each place is an operation or more. */
  private static final int MOST_PLACES = 64;

  private ArgmaxPooling() {}

  static void addTo(Converters table) {
    table.addCustom("MaxPoolingWithArgmax2D", ArgmaxPooling::pool);
    table.addCustom("MaxUnpooling2D", ArgmaxPooling::unpool);
  }

  /** The size of windows that lie side by side. */
  private record Window(int width, int height, boolean isPadded) {
    int places() {
      return width * height;
    }
  }

  /** The settings: TensorFlow Lite's of a pooling, as they are in memory. */
  private static Window window(Node node) {
    ByteBuffer settings = ByteBuffer.wrap(node.customOptions()).order(ByteOrder.LITTLE_ENDIAN);
    node.require(settings.remaining() >= SETTINGS, "its settings are too short");
    // Their padding is numbered from 1 on, and the schema's from 0 on.
    int padding = settings.getInt() - 1;
    int strideW = settings.getInt();
    int strideH = settings.getInt();
    int width = settings.getInt();
    int height = settings.getInt();
    int activation = settings.getInt();
    node.require(
        padding == Padding.SAME || padding == Padding.VALID,
        "its padding is neither SAME nor VALID");
    node.require(
        width > 0 && height > 0 && strideW == width && strideH == height,
        "its windows of %dx%d lie %dx%d apart; only those that lie side by side can be expressed"
            .formatted(height, width, strideH, strideW));
    node.require(
        (long) width * height <= MOST_PLACES,
        "its windows have more than %d elements".formatted(MOST_PLACES));
    node.require(
        activation == ActivationFunctionType.NONE,
        "it has fused activation " + activation + ", which none of its models has");
    return new Window(width, height, padding == Padding.SAME);
  }

  private static Operand images(Node node) {
    Operand data = node.inOperand(0);
    node.require(
        data.type() == OperandCode.TENSOR_FLOAT32
            && data.shape().rank() == RANK
            && data.shape().isFullySpecified(),
        "its input is " + data.text() + ", and not images of floats whose size is known");
    return data;
  }

  private static void pool(Node node) {
    Window window = window(node);
    Operand data = images(node);
    Shape shape = data.shape();
    int height = shape.dimension(1) / window.height();
    int width = shape.dimension(2) / window.width();
    boolean isWhole =
        height * window.height() == shape.dimension(1)
            && width * window.width() == shape.dimension(2);
    node.require(
        height > 0 && width > 0 && (isWhole || !window.isPadded()),
        "its input has shape %s, where windows of %dx%d do not fit"
            .formatted(shape, window.height(), window.width()));
    Shape result = Shape.of(shape.dimension(0), height, width, shape.dimension(3));
    int most = node.out(0);
    node.emit(
        OperationCode.MAX_POOL_2D,
        most,
        node.in(0),
        node.int32(VALID),
        node.int32(window.width()),
        node.int32(window.height()),
        node.int32(window.width()),
        node.int32(window.height()),
        node.int32(NO_ACTIVATION));
    int place = place(node, window, result, most);
    int tenth = node.number(data, TENTH);
    node.emit(OperationCode.ADD, node.out(1), place, tenth);
  }

  /**
   * The number of the first element in each window that is its maximum: of the first one 0, else
   * one more than it is among the others.
   */
  private static int place(Node node, Window window, Shape result, int most) {
    Operand data = node.inOperand(0);
    int one = node.number(data, 1);
    int place = Truths.filled(node, data, result, 0);
    for (int i = window.places() - 2; i >= 0; i--) {
      int element = element(node, window, result, i);
      int differs =
          node.compute(OperationCode.NOT_EQUAL, OperandCode.TENSOR_BOOL8, result, element, most);
      int isLater = node.compute(ThalamusExtension.CAST, data, result, differs);
      int next = node.compute(OperationCode.ADD, place, place, one);
      place = node.compute(OperationCode.MUL, place, isLater, next);
    }
    return place;
  }

  /** One element of each window. */
  private static int element(Node node, Window window, Shape result, int index) {
    Operand data = node.inOperand(0);
    long[] strides = StridedCopy.strides(data.shape());
    long offset = index / window.width() * strides[1] + index % window.width() * strides[2];
    strides[1] *= window.height();
    strides[2] *= window.width();
    int element = node.temporary(data, result);
    Strided.emit(node, node.in(0), result, offset, strides, element);
    return element;
  }

  private static void unpool(Node node) {
    Window window = window(node);
    Operand data = images(node);
    Shape shape = data.shape();
    node.require(
        node.inOperand(1).shape().equals(shape)
            && node.inOperand(1).type() == OperandCode.TENSOR_FLOAT32,
        "its places are " + node.inOperand(1).text() + ", and its values " + data.text());
    int place = node.compute(OperationCode.FLOOR, data, shape, node.in(1));
    int zeros = Truths.filled(node, data, shape, 0);
    List<Integer> parts = new ArrayList<>();
    for (int i = 0; i < window.places(); i++) {
      int number = node.number(data, i);
      int isHere =
          node.compute(OperationCode.EQUAL, OperandCode.TENSOR_BOOL8, shape, place, number);
      parts.add(node.compute(OperationCode.SELECT, data, shape, isHere, node.in(0), zeros));
    }
    int depth = shape.dimension(3);
    int all =
        node.temporary(
            OperandCode.TENSOR_FLOAT32,
            shape.with(3, Math.multiplyExact(depth, window.places())),
            Quantization.NONE);
    parts.add(node.int32(3));
    node.emit(OperationCode.CONCATENATION, parts, all);
    spread(node, window, all);
  }

  /** Writes the elements of windows, which stand one behind the other, side by side. */
  private static void spread(Node node, Window window, int all) {
    Shape shape = node.operand(all).shape();
    long[] strides = StridedCopy.strides(shape);
    int depth = shape.dimension(3) / window.places();
    int height = shape.dimension(1);
    int width = shape.dimension(2);
    int[] sizes = {shape.dimension(0), height, window.height(), width, window.width(), depth};
    long row = (long) depth * window.width();
    Shape result =
        Shape.of(
            sizes[0],
            Math.multiplyExact(height, window.height()),
            Math.multiplyExact(width, window.width()),
            depth);
    int output = node.out(0);
    node.builder().reshape(output, result);
    Strided.spread(
        node,
        all,
        sizes,
        new long[] {strides[0], strides[1], row, strides[2], depth, 1},
        result,
        output);
  }
}
