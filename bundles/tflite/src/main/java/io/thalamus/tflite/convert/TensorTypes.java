// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.WideTypes;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.tensorflow.lite.schema.TensorType;

/** The translation of a tensor's type, shape and quantization to NNAPI's. */
final class TensorTypes {
  /**
   * Graphs compute with integers of 32 bits and reals of 32: what models count and index fits these
   * bits, and UINT32 has its own in them.
   */
  private static final Map<Byte, OperandCode> CODES =
      Map.ofEntries(
          Map.entry(TensorType.INT4, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED),
          Map.entry(TensorType.FLOAT32, OperandCode.TENSOR_FLOAT32),
          Map.entry(TensorType.FLOAT16, OperandCode.TENSOR_FLOAT16),
          Map.entry(TensorType.FLOAT64, OperandCode.TENSOR_FLOAT32),
          Map.entry(TensorType.INT32, OperandCode.TENSOR_INT32),
          Map.entry(TensorType.UINT32, OperandCode.TENSOR_INT32),
          Map.entry(TensorType.INT64, OperandCode.TENSOR_INT32),
          Map.entry(TensorType.UINT64, OperandCode.TENSOR_INT32),
          Map.entry(TensorType.UINT16, OperandCode.TENSOR_INT32),
          Map.entry(TensorType.UINT8, OperandCode.TENSOR_QUANT8_ASYMM),
          Map.entry(TensorType.INT8, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED),
          Map.entry(TensorType.BOOL, OperandCode.TENSOR_BOOL8));

  private static final Map<Byte, Integer> ELEMENT_SIZES =
      Map.ofEntries(
          Map.entry(TensorType.INT4, 1),
          Map.entry(TensorType.FLOAT32, 4),
          Map.entry(TensorType.FLOAT16, 2),
          Map.entry(TensorType.FLOAT64, 8),
          Map.entry(TensorType.INT32, 4),
          Map.entry(TensorType.UINT32, 4),
          Map.entry(TensorType.UINT8, 1),
          Map.entry(TensorType.INT8, 1),
          Map.entry(TensorType.INT16, 2),
          Map.entry(TensorType.UINT16, 2),
          Map.entry(TensorType.INT64, 8),
          Map.entry(TensorType.UINT64, 8),
          Map.entry(TensorType.BOOL, 1));

  /** The types by which callers give and get tensors of which graphs compute with others. */
  private static final Map<Byte, OperandType> BORDERS =
      Map.of(
          TensorType.INT64, WideTypes.TENSOR_INT64,
          TensorType.UINT64, WideTypes.TENSOR_INT64,
          TensorType.FLOAT64, WideTypes.TENSOR_FLOAT64,
          TensorType.INT16, OperandCode.TENSOR_QUANT16_SYMM,
          TensorType.UINT16, OperandCode.TENSOR_QUANT16_ASYMM);

  /** The schema allows more, NNAPI's operations take four at most, plus headroom for reshaping. */
  private static final int MAX_RANK = 8;

  /** Any scale would do where all stored integers are 0; products of two of them are normal. */
  private static final float SCALE_OF_ZEROS = 0x1p-20f;

  private TensorTypes() {}

  /** The type of an operand that holds this tensor within a graph. */
  static OperandCode code(FlatTensor tensor) {
    if (tensor.is(TensorType.INT16)) {
      return isPlain16(tensor) ? OperandCode.TENSOR_INT32 : OperandCode.TENSOR_QUANT16_SYMM;
    }
    OperandCode code = CODES.get(tensor.type());
    if (code == null) {
      throw new Refusal(
          tensor.text() + " is of type " + tensor.typeName() + ", which NNAPI does not have");
    }
    return code;
  }

  /**
   * The type of operands by which a caller gives and gets a tensor, where it is not the one within
   * graphs.
   */
  static Optional<OperandType> border(FlatTensor tensor) {
    return tensor.scales().length > 0
        ? Optional.empty()
        : Optional.ofNullable(BORDERS.get(tensor.type()));
  }

  /** The quantization that lets integers of 16 bits stand for themselves; none for other types. */
  static Quantization plain(OperandType type) {
    return type instanceof OperandCode ? Quantization.of(1, 0) : Quantization.NONE;
  }

  /** Returns whether a tensor has integers of 16 bits that stand for themselves. */
  static boolean isPlain16(FlatTensor tensor) {
    return (tensor.is(TensorType.INT16) || tensor.is(TensorType.UINT16))
        && tensor.scales().length == 0;
  }

  /** Bytes of one stored element. */
  static int elementSize(FlatTensor tensor) {
    Integer size = ELEMENT_SIZES.get(tensor.type());
    if (size == null) {
      throw new Refusal(
          tensor.text() + " is of type " + tensor.typeName() + ", which NNAPI does not have");
    }
    return size;
  }

  /**
   * The dimensions. A scalar becomes a vector of one element, since NNAPI's tensors without
   * dimensions are of unknown rank. A dimension that changes from call to call keeps the size with
   * which the file was written (as in TensorFlow Lite itself); one without any size is unknown.
   */
  static Shape shape(FlatTensor tensor) {
    int[] dimensions = tensor.shape().clone();
    if (dimensions.length == 0) {
      return Shape.of(1);
    }
    if (dimensions.length > MAX_RANK) {
      throw new Refusal(
          tensor.text() + " has " + dimensions.length + " dimensions; NNAPI has at most 4");
    }
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = Math.max(0, dimensions[i]);
    }
    return Shape.of(dimensions);
  }

  /** The dimensions that the file states: those that change from call to call are unknown. */
  static Shape statedShape(FlatTensor tensor) {
    return tensor.signature().length == tensor.shape().length && tensor.shape().length > 0
        ? openShape(tensor)
        : shape(tensor);
  }

  /** The dimensions, of which those that change from call to call are unknown. */
  static Shape openShape(FlatTensor tensor) {
    return Shape.of(Arrays.stream(tensor.signature()).map(size -> Math.max(0, size)).toArray());
  }

  /**
   * One scale and zero point for the whole tensor. Plain 8-bit integers get scale 1, so that they
   * stand for themselves.
   */
  static Quantization quantization(FlatTensor tensor) {
    if (!tensor.is8Bit() && !tensor.is(TensorType.INT16) || isPlain16(tensor)) {
      return Quantization.NONE;
    }
    if (tensor.blocks() != null) {
      throw new Refusal(
          tensor.text() + " is quantized in blocks, which is read of constants for floats only");
    }
    if (tensor.scales().length == 0) {
      return Quantization.of(1, 0);
    }
    if (tensor.scales().length > 1) {
      throw new Refusal(
          tensor.text()
              + " is quantized per channel, which NNAPI has for convolution filters only");
    }
    return Quantization.of(checkedScale(tensor, 0), zeroPoint(tensor, 0));
  }

  /** The format of stored integers. */
  static Elements integers(FlatTensor tensor) {
    return switch (tensor.type()) {
      case TensorType.UINT8 -> Elements.UINT8;
      case TensorType.INT8, TensorType.INT4 -> Elements.INT8;
      case TensorType.INT16 -> Elements.INT16;
      case TensorType.INT32 -> Elements.INT32;
      case TensorType.UINT16 -> Elements.UINT16;
      case TensorType.UINT32 -> Elements.UINT32;
      case TensorType.INT64, TensorType.UINT64 -> Elements.INT64;
      default ->
          throw new Refusal(tensor.text() + " is " + tensor.typeName() + " and holds no integers");
    };
  }

  /**
   * The scale at an index, which is positive and finite. TensorFlow Lite's converter writes 0, or a
   * number whose reciprocal is infinite, for a tensor that was 0 whenever it was calibrated, such
   * as a first state.
   */
  static float checkedScale(FlatTensor tensor, int index) {
    float scale = tensor.scales()[index];
    if (scale >= 0 && scale < Float.MIN_NORMAL && tensor.is(TensorType.INT16)) {
      return SCALE_OF_ZEROS;
    }
    if (!(scale > 0) || Float.isInfinite(scale)) {
      throw new Refusal(tensor.text() + " has scale " + scale + ", which is not positive");
    }
    return scale;
  }

  /** The zero point at an index, which is within the type. */
  static int zeroPoint(FlatTensor tensor, int index) {
    long[] zeroPoints = tensor.zeroPoints();
    if (zeroPoints.length == 0) {
      return 0;
    }
    long zeroPoint = index < zeroPoints.length ? zeroPoints[index] : zeroPoints[0];
    long least = tensor.is8Bit() && !tensor.is(TensorType.UINT8) ? -128 : 0;
    long most = tensor.is(TensorType.UINT8) ? 255 : tensor.is8Bit() ? 127 : 0;
    if (zeroPoint < least || zeroPoint > most) {
      throw new Refusal(
          tensor.text() + " has zero point " + zeroPoint + ", outside of " + tensor.typeName());
    }
    return (int) zeroPoint;
  }
}
