// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;

import io.thalamus.memory.MemoryKind;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import java.util.EnumSet;
import java.util.Set;

/** The rules for a single operand: dimensions, scale and zero point, size of a constant. */
final class OperandRules {
  private static final Set<MemoryKind> HARDWARE_BUFFERS =
      EnumSet.of(MemoryKind.HARDWARE_BUFFER_BLOB, MemoryKind.HARDWARE_BUFFER);

  private OperandRules() {}

  static void check(Operand operand, int referencedGraphs) throws ValidationException {
    if (!operand.type().isTensor() && operand.shape().rank() > 0) {
      throw new ValidationException(
          "a scalar " + operand.type().text() + " has dimensions " + operand.shape());
    }
    checkQuantization(operand);
    switch (operand.lifetime()) {
      case Lifetime.Constant constant -> checkConstant(operand, constant.bytes().byteSize());
      case Lifetime.SubgraphReference reference -> {
        if (operand.type() != OperandCode.SUBGRAPH) {
          throw new ValidationException("a graph is referred to by a " + operand.type().text());
        }
        if (reference.index() < 0 || reference.index() >= referencedGraphs) {
          throw new ValidationException(
              "it refers to graph " + reference.index() + ", but there are " + referencedGraphs);
        }
      }
      default -> {
        if (operand.type() == OperandCode.SUBGRAPH) {
          throw new ValidationException("a SUBGRAPH must refer to a graph");
        }
      }
    }
  }

  /** The least feature level that has an operand of this kind. */
  static FeatureLevel level(Operand operand) {
    FeatureLevel level =
        operand.type() instanceof OperandCode code ? code.introducedIn() : FeatureLevel.V1_2;
    boolean isRankOpen = operand.type().isTensor() && operand.shape().rank() == 0;
    boolean isInHardwareBuffer =
        operand.lifetime() instanceof Lifetime.ConstantReference constant
            && HARDWARE_BUFFERS.contains(constant.pool().kind());
    return isRankOpen || isInHardwareBuffer ? FeatureLevel.max(level, FeatureLevel.V1_2) : level;
  }

  private static void checkConstant(Operand operand, long length) throws ValidationException {
    if (operand.type() == OperandCode.SUBGRAPH) {
      throw new ValidationException("a SUBGRAPH cannot be a constant");
    }
    if (operand.type().isTensor() && operand.shape().rank() == 0) {
      throw new ValidationException("a constant tensor needs dimensions");
    }
    long size =
        operand.type().isTensor()
            ? operand.shape().elementCount() * operand.type().elementSize()
            : operand.type().elementSize();
    if (length != size) {
      throw new ValidationException(
          "its value has %s bytes, but %s %s takes %s"
              .formatted(length, operand.shape(), operand.type().text(), size));
    }
  }

  private static void checkQuantization(Operand operand) throws ValidationException {
    Quantization quantization = operand.quantization();
    if (!(operand.type() instanceof OperandCode type)) {
      require(quantization.equals(Quantization.NONE), "an extension type is not quantized");
      return;
    }
    if (type == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      if (!(quantization instanceof PerChannel perChannel)) {
        throw new ValidationException("TENSOR_QUANT8_SYMM_PER_CHANNEL needs scales by channel");
      }
      checkPerChannel(operand, perChannel);
      return;
    }
    require(!(quantization instanceof PerChannel), type + " does not take scales by channel");
    float scale = quantization.scale();
    int zeroPoint = quantization.zeroPoint();
    switch (type) {
      case TENSOR_QUANT8_ASYMM -> checkQuantized(type, scale, zeroPoint, 0, 255);
      case TENSOR_QUANT8_ASYMM_SIGNED -> checkQuantized(type, scale, zeroPoint, -128, 127);
      case TENSOR_QUANT16_ASYMM -> checkQuantized(type, scale, zeroPoint, 0, 65535);
      case TENSOR_QUANT8_SYMM, TENSOR_QUANT16_SYMM -> checkQuantized(type, scale, zeroPoint, 0, 0);
      case TENSOR_INT32 -> {
        require(scale >= 0, "the scale " + scale + " is negative");
        require(zeroPoint == 0, "TENSOR_INT32 has zero point 0");
      }
      default -> require(scale == 0 && zeroPoint == 0, type + " has neither scale nor zero point");
    }
  }

  private static void checkQuantized(
      OperandCode type, float scale, int zeroPoint, int least, int most)
      throws ValidationException {
    if (!isScale(scale)) {
      throw new ValidationException(type + " needs a positive scale, not " + scale);
    }
    if (zeroPoint < least || zeroPoint > most) {
      throw new ValidationException(
          type + " takes zero points " + least + " to " + most + ", not " + zeroPoint);
    }
  }

  private static boolean isScale(float scale) {
    return scale > 0 && Float.isFinite(scale);
  }

  private static void checkPerChannel(Operand operand, PerChannel perChannel)
      throws ValidationException {
    int dimension = perChannel.channelDimension();
    if (dimension < 0 || dimension >= operand.shape().rank()) {
      throw new ValidationException(
          "there is no dimension " + dimension + " for scales by channel");
    }
    int channels = operand.shape().dimension(dimension);
    if (channels == 0 || perChannel.scales().length != channels) {
      throw new ValidationException(
          "there are " + perChannel.scales().length + " scales for " + channels + " channels");
    }
    for (float scale : perChannel.scales()) {
      if (!isScale(scale)) {
        throw new ValidationException("a channel has the scale " + scale);
      }
    }
  }

  private static void require(boolean condition, String broken) throws ValidationException {
    if (!condition) {
      throw new ValidationException(broken);
    }
  }
}
