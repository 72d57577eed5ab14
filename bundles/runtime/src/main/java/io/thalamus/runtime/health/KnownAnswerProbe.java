// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Tolerance;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.registry.Support;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;

/**
 * A small model with a known answer. A device in quarantine executes those that it supports, and
 * comes back when all answers are right. One that supports none of them comes back when it answers
 * at all. Immutable.
 *
 * @param name for people
 * @param model of one operation
 * @param input the values of the only input
 * @param expected those of the only output
 */
record KnownAnswerProbe(String name, Model model, float[] input, float[] expected) {
  /** Small whole numbers: a device that computes in half precision is exact for them too. */
  private static final List<KnownAnswerProbe> ALL =
      List.of(
          elementwise(
              "ADD", OperationCode.ADD, false, values(1, -2, 3, 100), values(2, -4, 6, 200)),
          elementwise("MUL", OperationCode.MUL, false, values(1, -2, 3, 10), values(1, 4, 9, 100)),
          elementwise("RELU", OperationCode.RELU, false, values(1, -2, 3, -4), values(1, 0, 3, 0)),
          elementwise(
              "quantized ADD", OperationCode.ADD, true, values(1, -2, 3, 40), values(2, -4, 6, 80)),
          fullyConnected(),
          fullyConnectedQuantized());

  private static final int ZERO_POINT = 128;

  /** Returns why a device does not come back; empty when it passes. */
  static Optional<String> failure(RegisteredDevice device) {
    for (KnownAnswerProbe probe : ALL) {
      Support support = device.supportedOperations(probe.model, Admission.UNTIL_DEPARTURE);
      if (support.isBroken()) {
        return Optional.of("the probe " + probe.name + " failed: " + support.reason());
      }
      if (support.operations().get(0)) {
        Optional<String> failure = probe.replay().failureOf(device);
        if (failure.isPresent()) {
          return failure.map(what -> "the probe " + probe.name + " failed: " + what);
        }
      }
    }
    return Optional.empty();
  }

  private ReplayProbe replay() {
    return ReplayProbe.of(
            name,
            model,
            List.of(value(model.main().input(0), input)),
            List.of(value(model.main().output(0), expected)),
            this::difference)
        .orElseThrow();
  }

  private static ReplayProbe.Value value(Operand operand, float... numbers) {
    byte[] bytes = new byte[Math.toIntExact(operand.byteSize())];
    for (int i = 0; i < numbers.length; i++) {
      Elements.of(operand.type())
          .setFloat(
              MemorySegment.ofArray(bytes), i, numbers[i] + operand.quantization().zeroPoint());
    }
    return new ReplayProbe.Value(bytes, Shape.NONE, Shape.NONE);
  }

  private Optional<String> difference(int output, MemorySegment actual, MemorySegment right) {
    Operand operand = model.main().output(output);
    Tolerance tolerance = Tolerance.of(operand.type(), true);
    for (int i = 0; i < expected.length; i++) {
      float number =
          Elements.of(operand.type()).getFloat(actual, i) - operand.quantization().zeroPoint();
      if (!tolerance.accepts(expected[i], number)) {
        return Optional.of("element %d is %s, not %s".formatted(i, number, expected[i]));
      }
    }
    return Optional.empty();
  }

  private static float[] values(float... values) {
    return values;
  }

  /** Returns a probe of an operation on one value, or on that value twice. */
  private static KnownAnswerProbe elementwise(
      String name, OperationCode code, boolean isQuantized, float[] input, float[] expected) {
    OperandCode type = isQuantized ? OperandCode.TENSOR_QUANT8_ASYMM : OperandCode.TENSOR_FLOAT32;
    Quantization scale = isQuantized ? Quantization.of(1, ZERO_POINT) : Quantization.NONE;
    SubgraphBuilder graph = new SubgraphBuilder();
    int in = graph.input("x", type, Shape.of(1, 4), scale);
    int out = graph.output("y", type, Shape.of(1, 4), scale);
    List<Integer> inputs =
        code == OperationCode.RELU ? List.of(in) : List.of(in, in, graph.int32(0));
    graph.operation(code, inputs, List.of(out));
    return new KnownAnswerProbe(name, Model.of(graph.build()), input, expected);
  }

  private static KnownAnswerProbe fullyConnected() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int in = graph.input("x", OperandCode.TENSOR_FLOAT32, Shape.of(1, 4), Quantization.NONE);
    int weights = floats(graph, Shape.of(2, 4), 1, 2, 3, 4, -1, 0, 1, 0);
    int bias = floats(graph, Shape.of(2), 10, 0);
    int out = graph.output("y", OperandCode.TENSOR_FLOAT32, Shape.of(1, 2), Quantization.NONE);
    graph.operation(
        OperationCode.FULLY_CONNECTED, List.of(in, weights, bias, graph.int32(0)), List.of(out));
    return new KnownAnswerProbe(
        "FULLY_CONNECTED", Model.of(graph.build()), new float[] {1, 1, 2, 2}, new float[] {27, 1});
  }

  private static KnownAnswerProbe fullyConnectedQuantized() {
    SubgraphBuilder graph = new SubgraphBuilder();
    Quantization half = Quantization.of(0.5f, ZERO_POINT);
    int in = graph.input("x", OperandCode.TENSOR_QUANT8_ASYMM, Shape.of(1, 4), half);
    byte[] values = new byte[8];
    int[] stored = {1, 2, 3, 4, -1, 0, 1, 0};
    for (int i = 0; i < stored.length; i++) {
      values[i] = (byte) (ZERO_POINT + stored[i]);
    }
    int weights =
        graph.constant(
            "w", OperandCode.TENSOR_QUANT8_ASYMM, Shape.of(2, 4), half, new ConstantCopy(values));
    int bias =
        graph.constant(
            "b",
            OperandCode.TENSOR_INT32,
            Shape.of(2),
            Quantization.of(0.25f, 0),
            new ConstantCopy(new byte[8]));
    int out =
        graph.output(
            "y", OperandCode.TENSOR_QUANT8_ASYMM, Shape.of(1, 2), Quantization.of(1, ZERO_POINT));
    graph.operation(
        OperationCode.FULLY_CONNECTED, List.of(in, weights, bias, graph.int32(0)), List.of(out));
    // In stored units: 4 + 8 + 24 + 32 = 68 and -4 + 0 + 8 + 0 = 4, times 0.5 * 0.5 / 1.
    return new KnownAnswerProbe(
        "quantized FULLY_CONNECTED",
        Model.of(graph.build()),
        new float[] {4, 4, 8, 8},
        new float[] {17, 1});
  }

  private static int floats(SubgraphBuilder graph, Shape shape, float... values) {
    byte[] bytes = new byte[4 * values.length];
    MemorySegment segment = MemorySegment.ofArray(bytes);
    for (int i = 0; i < values.length; i++) {
      segment.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i, values[i]);
    }
    return graph.constant(
        "c", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE, new ConstantCopy(bytes));
  }
}
