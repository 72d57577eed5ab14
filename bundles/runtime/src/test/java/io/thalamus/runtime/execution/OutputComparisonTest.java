// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.runtime.fakes.LimitedDevice;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The rule by which two answers count as the same. */
class OutputComparisonTest {
  private static final Quantization WHOLE = Quantization.of(1, 0);

  private static DeviceInfo device(boolean isExact) {
    return LimitedDevice.info("test-npu", DeviceType.ACCELERATOR, 1)
        .exactQuantized(isExact)
        .build();
  }

  /** A chain of these operations over four elements, the last one giving {@code out}. */
  private static Model chain(OperandType in, OperandType out, OperationCode... operations) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = graph.input("x", in, Shape.of(4), quantization(in));
    for (int i = 0; i < operations.length; i++) {
      int next =
          i == operations.length - 1
              ? graph.output("y", out, Shape.of(4), quantization(out))
              : graph.temporary("t", in, Shape.of(4), quantization(in));
      graph.operation(operations[i], List.of(value), List.of(next));
      value = next;
    }
    return Model.of(graph.build());
  }

  private static Quantization quantization(OperandType type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM ? WHOLE : Quantization.NONE;
  }

  private static Model floats(OperationCode... operations) {
    return chain(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT32, operations);
  }

  private static Model quantized(OperationCode... operations) {
    return chain(OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM, operations);
  }

  private static boolean agree(Model model, float[] actual, float... expected) {
    return new OutputComparison(model, device(true))
        .difference(0, MemorySegment.ofArray(actual), MemorySegment.ofArray(expected))
        .isEmpty();
  }

  private static Optional<String> difference(boolean isExact, Model model, int actual) {
    byte[] given = {1, (byte) actual, 3, 4};
    return new OutputComparison(model, device(isExact))
        .difference(
            0, MemorySegment.ofArray(given), MemorySegment.ofArray(new byte[] {1, 2, 3, 4}));
  }

  @Test
  void exactDevicesAreHeldToTheBit() {
    Model model = quantized(OperationCode.RELU);
    assertTrue(difference(true, model, 2).isEmpty());
    assertEquals(
        "output 0: element 1 is 3, on the reference 2; 1 of 4 differ",
        difference(true, model, 3).orElseThrow());
    assertTrue(difference(false, model, 3).isEmpty());
    assertTrue(difference(false, model, 4).isPresent());
    assertTrue(difference(false, quantized(OperationCode.RELU, OperationCode.TANH), 4).isEmpty());
  }

  @Test
  void exactDevicesMayRoundFloatsBeforeTheyQuantize() {
    Model model =
        chain(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM, OperationCode.QUANTIZE);
    assertTrue(difference(true, model, 3).isEmpty());
  }

  @Test
  void floatsAreComparedRelativelyToTheLargestAndOnceForEachOperation() {
    Model one = floats(OperationCode.TANH);
    assertTrue(agree(one, new float[] {0.000009f, 0, 0, 1}, 0, 0, 0, 1));
    assertFalse(agree(one, new float[] {0.000012f, 0, 0, 1}, 0, 0, 0, 1));
    assertTrue(agree(one, new float[] {0.0009f, 0, 0, 100}, 0, 0, 0, 100));
    Model two = floats(OperationCode.TANH, OperationCode.TANH);
    assertTrue(agree(two, new float[] {0.000019f, 0, 0, 1}, 0, 0, 0, 1));
    assertFalse(agree(two, new float[] {0.000022f, 0, 0, 1}, 0, 0, 0, 1));
    Model model = floats(OperationCode.TANH);
    Model relaxed = new Model(model.main(), List.of(), true);
    assertTrue(agree(relaxed, new float[] {0.004f, 0, 0, 1}, 0, 0, 0, 1));
  }

  @Test
  void nanAndInfinityAreOnlyLikeThemselves() {
    Model model = floats(OperationCode.LOG);
    float nan = Float.NaN;
    float infinity = Float.POSITIVE_INFINITY;
    assertTrue(
        agree(model, new float[] {nan, infinity, -infinity, 1}, nan, infinity, -infinity, 1));
    assertFalse(agree(model, new float[] {nan, 0, 0, 0}, 0, 0, 0, 0));
    assertFalse(agree(model, new float[] {0, 0, 0, 0}, nan, 0, 0, 0));
    assertFalse(agree(model, new float[] {infinity, 0, 0, 0}, -infinity, 0, 0, 0));
    assertFalse(agree(model, new float[] {infinity, 0, 0, 0}, 1e30f, 0, 0, 0));
    assertFalse(agree(model, new float[] {0, 5, 0, 0}, infinity, 0, 0, 0));
  }

  @Test
  void whereRoundingDecidesTwoAnswersSayNothing() {
    Model alone = chain(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32, OperationCode.ARGMAX);
    Model after =
        chain(
            OperandCode.TENSOR_FLOAT32,
            OperandCode.TENSOR_INT32,
            OperationCode.TANH,
            OperationCode.ARGMAX);
    Model exact =
        chain(
            OperandCode.TENSOR_QUANT8_ASYMM,
            OperandCode.TENSOR_INT32,
            OperationCode.RELU,
            OperationCode.ARGMAX);
    assertTrue(new OutputComparison(alone, device(false)).isComparable());
    assertFalse(new OutputComparison(after, device(true)).isComparable());
    assertTrue(new OutputComparison(exact, device(true)).isComparable());
    assertFalse(new OutputComparison(exact, device(false)).isComparable());
    Model random =
        chain(
            OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32, OperationCode.RANDOM_MULTINOMIAL);
    assertFalse(new OutputComparison(random, device(true)).isComparable());
  }
}
