// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Convolution;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.Pooling;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * The extension {@code io.thalamus}: part of the standard catalog, and known by the CPU device.
 *
 * <p>BATCH_MATMUL, PACK, MIRROR_PAD and REVERSE take the arguments that NNAPI gave operations of
 * these names at feature level 6; the others follow TensorFlow Lite and ONNX.
 */
public final class ThalamusExtension {
  /** The name of the extension. */
  public static final String NAME = "io.thalamus";

  /** All that {@link #type} makes, which is in the order of their codes. */
  private static final List<ExtensionOperationType> TYPES = new ArrayList<>();

  /**
   * Products of matrices. Inputs: two tensors of rank 2 or higher, whose dimensions before the last
   * two broadcast; BOOL whether the first matrices are transposed; BOOL whether the second are;
   * optionally BOOL whether stored results are rounded once, to the even one where two are as near.
   */
  public static final ExtensionOperationType BATCH_MATMUL = type(0, "BATCH_MATMUL");

  /**
   * Joins tensors along a new dimension. Inputs: INT32 the axis of the new dimension; one or more
   * tensors of the same shape and quantization.
   */
  public static final ExtensionOperationType PACK = type(1, "PACK");

  /**
   * Pads a tensor with its own mirror image. Inputs: a tensor; TENSOR_INT32 [rank, 2] of how much
   * before and after; INT32 {@link Rearrange#REFLECT} or {@link Rearrange#SYMMETRIC}.
   */
  public static final ExtensionOperationType MIRROR_PAD = type(2, "MIRROR_PAD");

  /** Turns a tensor round. Inputs: a tensor; TENSOR_INT32 of the axes to turn. */
  public static final ExtensionOperationType REVERSE = type(3, "REVERSE");

  /**
   * Takes slices by index tuples. Inputs: a tensor; TENSOR_INT32 [..., n] of indexes along its
   * first n dimensions. The output has the dimensions of the indexes but the last, then those of
   * the tensor from n on.
   */
  public static final ExtensionOperationType GATHER_ND = type(4, "GATHER_ND");

  /** {@code (a - b)^2} with broadcasting. Inputs: two tensors. */
  public static final ExtensionOperationType SQUARED_DIFFERENCE = type(5, "SQUARED_DIFFERENCE");

  /** {@code floor(a / b)} with broadcasting. Inputs: two tensors. */
  public static final ExtensionOperationType FLOOR_DIV = type(6, "FLOOR_DIV");

  /** The error function of each element. Input: a tensor. */
  public static final ExtensionOperationType ERF = type(7, "ERF");

  /**
   * Gives the elements along the last dimensions mean 0 and variance 1, then scales and moves them.
   * Inputs: a tensor; the scale and the bias, which broadcast to the tensor, and of which the bias
   * may be left out; INT32 the first of the dimensions that are normalized together; a scalar of
   * the tensor's precision that is added to the variance.
   */
  public static final ExtensionOperationType LAYER_NORMALIZATION = type(8, "LAYER_NORMALIZATION");

  /**
   * Takes elements of a tensor at regular distances, whatever its dimensions. Inputs: a tensor;
   * TENSOR_INT32 the dimensions of the output; TENSOR_INT32 for each of them how many elements lie
   * between two neighbours, which may be 0 or negative; INT32 the first element. It does for all
   * what NNAPI does for some types and up to four dimensions by RESHAPE, TRANSPOSE, TILE or
   * STRIDED_SLICE.
   */
  public static final ExtensionOperationType AS_STRIDED = type(9, "AS_STRIDED");

  /**
   * NNAPI's operation of this name, also of integers and truth values, and of any number of
   * dimensions. Inputs: the tensors; INT32 the axis.
   */
  public static final ExtensionOperationType CONCATENATION = type(10, "CONCATENATION");

  /**
   * Numbers as stored in another type, element by element, of 64 bits too: a fraction is cut off,
   * and what is beyond the other type becomes its least or largest number; but an integer keeps its
   * low 8 or 16 bits where the other type has no more, and one of 64 bits that 32 do not hold is
   * refused; what is true is 1. Input: a tensor.
   */
  public static final ExtensionOperationType CAST = type(11, "CAST");

  /**
   * The indexes of the elements that are not 0, or true, in the order of the elements. Inputs: a
   * tensor; BOOL whether the output has a row for each axis, not for each element. The output is
   * TENSOR_INT32 [found, rank], or [rank, found].
   */
  public static final ExtensionOperationType NON_ZERO = type(12, "NON_ZERO");

  /**
   * Elements that differ. Inputs: a vector; BOOL whether they come in ascending order instead of
   * that in which they stand. Outputs: one of each; TENSOR_INT32 the first place of each;
   * TENSOR_INT32 for each element of the vector its number in the first output; TENSOR_INT32 how
   * many equal each.
   */
  public static final ExtensionOperationType UNIQUE = type(13, "UNIQUE");

  /**
   * The best boxes of each class that do not overlap better ones by more than a limit. Inputs:
   * boxes [images, boxes, 4], two opposite corners each; scores [images, classes, boxes];
   * TENSOR_INT32 [1] how many are chosen at most of each class; TENSOR_FLOAT32 [1] the largest
   * intersection by union; TENSOR_FLOAT32 [1] what scores must be above; BOOL whether a box is its
   * center and its sizes instead. The output is TENSOR_INT32 [found, 3] of image, class and box.
   */
  public static final ExtensionOperationType NON_MAX_SUPPRESSION = type(14, "NON_MAX_SUPPRESSION");

  /**
   * The angle of the point {@code (second, first)}, from -pi to pi, with broadcasting. Inputs: two
   * tensors.
   */
  public static final ExtensionOperationType ATAN2 = type(15, "ATAN2");

  /** The bits that differ, with broadcasting. Inputs: two tensors. */
  public static final ExtensionOperationType BITWISE_XOR = type(16, "BITWISE_XOR");

  /**
   * The first shifted by the second towards its low bits, with its sign, and with broadcasting;
   * less than 0 counts as 0, and more than 31 as 31. Inputs: two tensors.
   */
  public static final ExtensionOperationType RIGHT_SHIFT = type(17, "RIGHT_SHIFT");

  /**
   * The same bits as elements of another type: of TENSOR_FLOAT32 those of TENSOR_INT32, or the
   * other way round. Input: a tensor.
   */
  public static final ExtensionOperationType BITCAST = type(18, "BITCAST");

  /**
   * NNAPI's operation of this name on 8-bit integers, as ONNX Runtime rounds: sums times a float
   * factor, to the nearest whole number, of two that are as near the even one.
   */
  public static final ExtensionOperationType CONV_2D = type(19, "CONV_2D");

  /** As {@link #CONV_2D}. */
  public static final ExtensionOperationType DEPTHWISE_CONV_2D = type(20, "DEPTHWISE_CONV_2D");

  /** As {@link #CONV_2D}. */
  public static final ExtensionOperationType GROUPED_CONV_2D = type(21, "GROUPED_CONV_2D");

  /** As {@link #CONV_2D}. */
  public static final ExtensionOperationType FULLY_CONNECTED = type(22, "FULLY_CONNECTED");

  /**
   * NNAPI's operation of this name, as ONNX rounds: to the nearest whole number, of two that are as
   * near the even one.
   */
  public static final ExtensionOperationType QUANTIZE = type(23, "QUANTIZE");

  /**
   * NNAPI's operation of this name on 8-bit integers: computed as floats, and rounded as {@link
   * #QUANTIZE} does.
   */
  public static final ExtensionOperationType ADD = type(24, "ADD");

  /** As {@link #ADD}. */
  public static final ExtensionOperationType SUB = type(25, "SUB");

  /** As {@link #ADD}. */
  public static final ExtensionOperationType MUL = type(26, "MUL");

  /**
   * NNAPI's operation of this name on 8-bit integers, as TensorFlow Lite rounds signed ones: an
   * average between two integers goes away from the middle of the type, 0 or 128.
   */
  public static final ExtensionOperationType AVERAGE_POOL_2D = type(27, "AVERAGE_POOL_2D");

  /**
   * Means of samples in the cells of regions, wherever these lie, as ONNX takes them. Inputs: an
   * image [images, height, width, channels]; boxes [boxes, 4] of x, y, x, y; TENSOR_INT32 [boxes]
   * of which image; INT32 the height and the width of a region's output; INT32 samples of a cell
   * along each axis, 0 for as many as it has pixels; FLOAT32 pixels of the image for each that the
   * boxes count; BOOL whether boxes count from the corner of a pixel, not from its middle; BOOL
   * whether a cell is the largest of its samples' weighted pixels instead of their mean.
   */
  public static final ExtensionOperationType ROI_ALIGN = type(28, "ROI_ALIGN");

  /**
   * Makes 8-bit integers of floats by a scale and a zero point that fit them, as ONNX's
   * DynamicQuantizeLinear does. Input: a tensor. Outputs: TENSOR_QUANT8_ASYMM of the same shape,
   * the integers themselves, so with the scale 1 and the zero point 0; TENSOR_FLOAT32 [1] the
   * scale; TENSOR_QUANT8_ASYMM [1] the zero point, in the same way.
   */
  public static final ExtensionOperationType DYNAMIC_QUANTIZE_LINEAR =
      type(29, "DYNAMIC_QUANTIZE_LINEAR");

  /**
   * Sums of products of 8-bit integers, in 32 bits. Inputs: a tensor [..., inputSize]; weights
   * [inputSize, units]. Zero points are subtracted first, and scales do not count. The output is
   * TENSOR_INT32 [..., units].
   */
  public static final ExtensionOperationType MATMUL_INTEGER = type(30, "MATMUL_INTEGER");

  /**
   * A tensor with updates of slices at index tuples, one after the other. Inputs: a tensor;
   * TENSOR_INT32 [..., n] of indexes along its first n dimensions; a slice for each tuple, of the
   * shape that GATHER_ND gives; INT32 the code of a {@link Selection.Update}. Only numbers of 32
   * bits and TENSOR_FLOAT16 can be more than replaced.
   */
  public static final ExtensionOperationType SCATTER_ND = type(31, "SCATTER_ND");

  /**
   * Integers in another scale, as TensorFlow Lite's MultiplyByQuantizedMultiplier has them: less
   * their zero point; shifted to the left, of which 32 bits are kept; times a mantissa of 31 bits
   * by 2^31, to the nearest integer, of two that are as near the larger one; shifted to the right,
   * to the nearest integer, of two that are as near the one farther from 0; with the zero point of
   * the output, the nearest integer that its type stores. Scales do not count, and TENSOR_INT32 has
   * the zero point 0. Inputs: a tensor; INT32 the mantissa, 0 or from 2^30 on; INT32 the shift from
   * -31 to 30, to the left where it is positive.
   */
  public static final ExtensionOperationType RESCALE = type(32, "RESCALE");

  /**
   * Operations of NNAPI with those of the same names here, which differ in their rounding alone.
   */
  public static final Map<OperationCode, ExtensionOperationType> ROUNDED =
      Map.of(
          OperationCode.CONV_2D, CONV_2D,
          OperationCode.DEPTHWISE_CONV_2D, DEPTHWISE_CONV_2D,
          OperationCode.GROUPED_CONV_2D, GROUPED_CONV_2D,
          OperationCode.FULLY_CONNECTED, FULLY_CONNECTED,
          OperationCode.QUANTIZE, QUANTIZE,
          OperationCode.ADD, ADD,
          OperationCode.SUB, SUB,
          OperationCode.MUL, MUL,
          OperationCode.AVERAGE_POOL_2D, AVERAGE_POOL_2D);

  private ThalamusExtension() {}

  private static ExtensionOperationType type(int code, String name) {
    ExtensionOperationType type = new ExtensionOperationType(NAME, code, name);
    TYPES.add(type);
    return type;
  }

  /** Returns the operations of the extension. */
  public static List<ExtensionOperationType> types() {
    return Collections.unmodifiableList(TYPES);
  }

  /** Returns the definitions of one of {@link #types} and of those that are defined with it. */
  public static List<OperationDefinition> family(ExtensionOperationType type) {
    // A type that a file brings may have any name.
    return switch (TYPES.get(type.code()).name()) {
      case "CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D" ->
          Convolution.even(CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D);
      case "DYNAMIC_QUANTIZE_LINEAR", "MATMUL_INTEGER" -> DynamicQuantization.definitions();
      case "ADD",
          "ATAN2",
          "BITWISE_XOR",
          "FLOOR_DIV",
          "MUL",
          "RESCALE",
          "RIGHT_SHIFT",
          "SQUARED_DIFFERENCE",
          "SUB" ->
          Elementwise.definitions();
      case "BATCH_MATMUL", "FULLY_CONNECTED" -> MatrixMultiply.definitions();
      case "LAYER_NORMALIZATION" -> Normalization.definitions();
      case "AVERAGE_POOL_2D" -> List.of(Pooling.centered(AVERAGE_POOL_2D));
      case "CONCATENATION", "MIRROR_PAD", "PACK", "REVERSE" -> Rearrange.definitions();
      case "ROI_ALIGN" -> Regions.definitions();
      case "NON_MAX_SUPPRESSION", "NON_ZERO", "UNIQUE" -> Search.definitions();
      case "GATHER_ND", "SCATTER_ND" -> Selection.definitions();
      case "AS_STRIDED" -> Slice.definitions();
      case "BITCAST", "CAST", "ERF", "QUANTIZE" -> UnaryMath.definitions();
      default -> throw new IllegalStateException(type.text() + " has no family");
    };
  }
}
