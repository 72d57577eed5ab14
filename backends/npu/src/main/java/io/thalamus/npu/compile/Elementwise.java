// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.driver.BroadcastAxis;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Factor;
import io.thalamus.npu.compile.PairLayer.Side;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.ResolvedOperation;
import java.util.List;

/** Arithmetic on two tensors that are, joined where they can be, of rows and columns. */
final class Elementwise {
  private static final int MAX_AXES = 2;

  private Elementwise() {}

  static void register(LoweringTable table) {
    table
        .add(OperationCode.ADD, Elementwise::lower, Types.all())
        .add(OperationCode.SUB, Elementwise::lower, ElementTypes.quantized8())
        .add(OperationCode.MUL, Elementwise::lower, Types.all());
  }

  private static List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    Shape result = operation.outputShape(0);
    List<BroadcastAxis> axes =
        BroadcastAxis.of(operation.inputShape(0), operation.inputShape(1), result);
    if (axes.size() > MAX_AXES) {
      return List.of();
    }
    BroadcastAxis inner = axes.isEmpty() ? new BroadcastAxis(1, 1, 1) : axes.getLast();
    BroadcastAxis outer = axes.size() < MAX_AXES ? new BroadcastAxis(1, 0, 0) : axes.getFirst();
    return List.of(
        new PairLayer(
            new Side(inputs.get(0), outer.first(), inner.first()),
            new Side(inputs.get(1), outer.second(), inner.second()),
            output,
            outer.size(),
            inner.size(),
            pattern(operation)));
  }

  private static Command.Elementwise pattern(ResolvedOperation operation) {
    OperationView view = operation.view();
    int flags = Types.flags(view.output().type());
    return switch (operation.parameters()) {
      case QuantizedSum sum ->
          pattern(
              view,
              flags,
              sum.leftShift(),
              factor(sum.input1()),
              factor(sum.input2()),
              factor(sum.output()),
              sum.activation().min(),
              sum.activation().max());
      case QuantizedProduct product ->
          pattern(
              view,
              flags | Command.PRODUCT,
              0,
              Factor.NONE,
              Factor.NONE,
              factor(product.output()),
              product.activation().min(),
              product.activation().max());
      case Plain plain -> {
        FloatRange range = plain.activation().range();
        yield pattern(
            view,
            flags | (view.type() == OperationCode.MUL ? Command.PRODUCT : 0),
            0,
            Factor.NONE,
            Factor.NONE,
            Factor.NONE,
            Float.floatToIntBits(range.min()),
            Float.floatToIntBits(range.max()));
      }
      default -> throw new IllegalStateException("no parameters of arithmetic");
    };
  }

  private static Factor factor(Requantization factor) {
    return new Factor(factor.multiplier(), factor.shift());
  }

  private static Command.Elementwise pattern(
      OperationView view,
      int flags,
      int leftShift,
      Factor first,
      Factor second,
      Factor factor,
      int min,
      int max) {
    return new Command.Elementwise(
        flags,
        0,
        0,
        0,
        1,
        1,
        0,
        0,
        0,
        0,
        view.input(0).zeroPoint(),
        view.input(1).zeroPoint(),
        leftShift,
        first,
        second,
        factor,
        view.output().zeroPoint(),
        min,
        max);
  }
}
