// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;

/** Convolutions over two spatial axes, of constant filters. */
public final class Convolution {
  private Convolution() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    Lowering plain = new Weighted(Convolution::conv2d);
    Lowering depthwise = new Weighted(Convolution::depthwise);
    table
        .add(OperationCode.CONV_2D, Convolution::isPlainPossible, plain, Weighted.types())
        .add(
            ThalamusExtension.CONV_2D,
            Convolution::isPlainPossible,
            plain,
            ElementTypes.quantized8())
        .add(
            OperationCode.GROUPED_CONV_2D,
            Convolution::isDepthwisePossible,
            new Weighted(Convolution::grouped),
            TENSOR_FLOAT32)
        .add(
            OperationCode.DEPTHWISE_CONV_2D,
            Convolution::isDepthwisePossible,
            depthwise,
            Weighted.types())
        .add(
            ThalamusExtension.DEPTHWISE_CONV_2D,
            Convolution::isDepthwisePossible,
            depthwise,
            ElementTypes.quantized8());
  }

  private static boolean isPlainPossible(OperationView operation) {
    return isPossible(operation, 0);
  }

  private static boolean isDepthwisePossible(OperationView operation) {
    return isPossible(operation, 1);
  }

  /**
   * Returns true if shapes and weights are known, channels stand last and the activation can be
   * fused.
   *
   * @param ownArguments between the strides and the activation
   */
  private static boolean isPossible(OperationView operation, int ownArguments) {
    if (!Weighted.isPossible(operation)) {
      return false;
    }
    int layout = 7 + ownArguments;
    boolean isExplicit =
        operation.inputs().size() >= layout + 3
            && operation.input(layout).type() != OperandCode.BOOL;
    int activation = (isExplicit ? layout + 3 : layout) - 1;
    boolean isNhwc = !operation.bool(activation + 1, false);
    return isNhwc && operation.hasValues(3) && Weighted.isClampPossible(operation, activation);
  }

  /** The common part of both convolutions and of fully connected layers. */
  record Weighted(Lowering lowering) implements Lowering.OfFirst {
    static OperandCode[] types() {
      return new OperandCode[] {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED};
    }

    /** Returns true if the shape of the data, filter and bias are known. */
    static boolean isPossible(OperationView operation) {
      return operation.input(0).isShapeKnown()
          && operation.input(0).type().isTensor()
          && operation.input(1).value().isPresent()
          && operation.input(2).value().isPresent()
          && operation.input(1).isShapeKnown();
    }

    /** Returns true if float kernels can clamp the activation at an index by bits. */
    static boolean isClampPossible(OperationView operation, int activation) {
      return operation.input(activation).value().isPresent()
          && (operation.input(0).type() != TENSOR_FLOAT32
              || operation.input(activation).int32() != FusedActivation.RELU1.code());
    }

    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      return lowering.lower(node, tensors, budget);
    }

    @Override
    public FusedActivation activation(ResolvedOperation operation) {
      if (!isFloat(operation)) {
        return FusedActivation.NONE;
      }
      return switch (operation.parameters()) {
        case Parameters convolution -> convolution.activation();
        case io.thalamus.operations.MatrixMultiply.Parameters dense -> dense.activation();
        default -> FusedActivation.NONE;
      };
    }

    @Override
    public boolean takesAddition(ResolvedOperation operation) {
      return isFloat(operation) && operation.view().type() != OperationCode.DEPTHWISE_CONV_2D;
    }

    @Override
    public boolean takesActivation(ResolvedOperation operation) {
      return isFloat(operation);
    }

    private static boolean isFloat(ResolvedOperation operation) {
      return operation.view().output().type() == TENSOR_FLOAT32;
    }
  }

  private static Step conv2d(Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    Tensor output = tensors.output(node);
    Patches patches = patches(node, tensors, parameters);
    return Products.lower(node, tensors, patches, output, parameters.quantized(), budget);
  }

  private static Step grouped(Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    return GroupedProduct.lower(
        node, tensors, patches(node, tensors, parameters), parameters, budget);
  }

  private static Patches patches(Node node, Tensors tensors, Parameters parameters) {
    // A fused activation or addition changes the operand, not its shape.
    Shape shape = node.operation().outputShape(0);
    Tensor source = tensors.input(node, 0);
    if (isColumn(parameters, source)) {
      return new Patches(
          source.turned(), parameters.width(), parameters.height(), 1, shape.dimension(1));
    }
    return new Patches(
        source, parameters.height(), parameters.width(), shape.dimension(1), shape.dimension(2));
  }

  /**
   * Returns true if a filter moves along a column, which is as well a line: neighbours of a line
   * are computed together.
   */
  static boolean isColumn(Parameters parameters, Tensor source) {
    Window width = parameters.width();
    return source.dimension(2) == 1
        && width.size() == 1
        && width.before() == 0
        && width.after() < width.stride();
  }

  private static Step depthwise(Node node, Tensors tensors, Budget budget) {
    return Depthwise.lower(node, tensors, budget);
  }
}
