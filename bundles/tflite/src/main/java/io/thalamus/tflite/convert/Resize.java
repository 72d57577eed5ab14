// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.ResizeBilinearOptions;
import org.tensorflow.lite.schema.ResizeNearestNeighborOptions;

/** Images in another size. The file says height before width, NNAPI width before height. */
final class Resize {
  private Resize() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RESIZE_BILINEAR, Resize::bilinear);
    table.add(BuiltinOperator.RESIZE_NEAREST_NEIGHBOR, Resize::nearest);
  }

  private static void bilinear(Node node) {
    ResizeBilinearOptions options = node.options(new ResizeBilinearOptions());
    boolean align = node.get(options::alignCorners);
    boolean half = node.get(options::halfPixelCenters);
    if (!node.isKnown(1)) {
      ComputedResize.convert(node, true, align, half);
      return;
    }
    if (Wide16.isQuantized(node.input(0))) {
      int[] size = node.ints(1);
      node.require(size.length == 2, "its size is not height and width");
      WideResize.convert(node, size, align, half);
      return;
    }
    emit(
        node,
        output -> {
          List<Integer> inputs = imageAndSize(node);
          addCorners(node, inputs, align, half);
          node.emit(OperationCode.RESIZE_BILINEAR, inputs, output);
        });
  }

  private static void nearest(Node node) {
    ResizeNearestNeighborOptions options = node.options(new ResizeNearestNeighborOptions());
    boolean align = node.get(options::alignCorners);
    boolean half = node.get(options::halfPixelCenters);
    if (!node.isKnown(1)) {
      ComputedResize.convert(node, false, align, half);
      return;
    }
    emit(
        node,
        output -> {
          List<Integer> inputs = imageAndSize(node);
          if (!align && !half) {
            inputs.add(node.bool(false)); // this operation always says the layout
          }
          addCorners(node, inputs, align, half);
          node.emit(OperationCode.RESIZE_NEAREST_NEIGHBOR, inputs, output);
        });
  }

  /**
   * TensorFlow Lite resizes the stored numbers, whatever they stand for: where the output has
   * another scale, its numbers are those of the input's.
   */
  private static void emit(Node node, IntConsumer resizing) {
    Operand source = node.inOperand(0);
    int output = node.out(0);
    Operand target = node.operand(output);
    if (!FloatFallback.isQuantized8(source)
        || source.quantization().equals(target.quantization())) {
      resizing.accept(output);
      return;
    }
    int resized = node.temporary(source, target.shape());
    resizing.accept(resized);
    node.emit(OperationCode.CAST, output, resized);
  }

  private static List<Integer> imageAndSize(Node node) {
    int[] size = node.ints(1);
    node.require(size.length == 2, "its size is not height and width");
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.in(0));
    inputs.add(node.int32(size[1]));
    inputs.add(node.int32(size[0]));
    return inputs;
  }

  /** Since 1.3; left out where an older form says the same. */
  private static void addCorners(Node node, List<Integer> inputs, boolean align, boolean half) {
    if (align || half) {
      inputs.add(node.bool(false));
      inputs.add(node.bool(align));
      inputs.add(node.bool(half));
    }
  }
}
