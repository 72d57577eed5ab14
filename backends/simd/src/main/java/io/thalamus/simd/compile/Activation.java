// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.Activation.Exponential;
import io.thalamus.operations.Activation.Range;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Functions;
import io.thalamus.simd.kernel.Functions.Kind;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Span;
import io.thalamus.simd.program.Tensor;
import java.util.function.IntUnaryOperator;

/** Functions of single values. Float RELU1 is left to others: see {@link Clamp}. */
public final class Activation {
  private Activation() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    floating(table, OperationCode.RELU, Kind.CLAMP, Clamp.of(FusedActivation.RELU));
    floating(table, OperationCode.RELU6, Kind.CLAMP, Clamp.of(FusedActivation.RELU6));
    floating(table, OperationCode.LOGISTIC, Kind.LOGISTIC, Clamp.NONE);
    floating(table, OperationCode.TANH, Kind.TANH, Clamp.NONE);
    floating(table, OperationCode.HARD_SWISH, Kind.HARD_SWISH, Clamp.NONE);
    floating(table, OperationCode.EXP, Kind.EXP, Clamp.NONE);
    floating(table, ThalamusExtension.ERF, Kind.ERF, Clamp.NONE);
    floating(table, OperationCode.SQRT, Kind.SQRT, Clamp.NONE);
    floating(table, OperationCode.RSQRT, Kind.RSQRT, Clamp.NONE);
    floating(table, OperationCode.ABS, Kind.ABS, Clamp.NONE);
    floating(table, OperationCode.NEG, Kind.NEG, Clamp.NONE);
    floating(table, OperationCode.FLOOR, Kind.FLOOR, Clamp.NONE);
    floating(table, OperationCode.LOG, Kind.LOG, Clamp.NONE);
    floating(table, OperationCode.SIN, Kind.SIN, Clamp.NONE);
    table
        .add(
            OperationCode.ELU,
            operation -> isPossible(operation) && operation.input(1).value().isPresent(),
            (node, tensors, budget) -> {
              Tensor output = tensors.output(node);
              float alpha = node.operation().parameters(Exponential.class).alpha();
              return new Elu(
                  tensors.input(node, 0), output, alpha, Span.of(output.size(), 64, budget));
            },
            TENSOR_FLOAT32)
        .add(OperationCode.ABS, Activation::isPossible, magnitude(true), TENSOR_INT32)
        .add(OperationCode.NEG, Activation::isPossible, magnitude(false), TENSOR_INT32);
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RELU,
          OperationCode.RELU1,
          OperationCode.RELU6,
          OperationCode.LOGISTIC,
          OperationCode.TANH,
          OperationCode.HARD_SWISH
        }) {
      table.add(
          code,
          Activation::isPossible,
          (node, tensors, budget) ->
              new Lookup(
                  tensors.input(node, 0),
                  tensors.output(node),
                  table(tensors.input(node, 0), function(node.operation().parameters())),
                  budget),
          ElementTypes.quantized8());
    }
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown();
  }

  private static void floating(
      OperationTable.Builder<Lowering> table, OperationType code, Kind kind, Clamp clamp) {
    table.add(
        code,
        Activation::isPossible,
        (node, tensors, budget) -> {
          Tensor output = tensors.output(node);
          Span span = Span.of(output.size(), kind == Kind.CLAMP ? 1 : 8, budget);
          return new Floating(kind, clamp, tensors.input(node, 0), output, span);
        },
        TENSOR_FLOAT32);
  }

  private static Lowering magnitude(boolean isAbsolute) {
    return (node, tensors, budget) -> {
      Tensor output = tensors.output(node);
      Span span = Span.of(output.size(), 1, budget);
      return new Magnitude(isAbsolute, tensors.input(node, 0), output, span);
    };
  }

  /** Floats bent by an exponential where they are negative, in double. */
  private record Elu(Tensor input, Tensor output, float alpha, Span span) implements SpanStep {
    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      float[] in = frame.floats(input);
      float[] out = frame.floats(output);
      int from = input.offset();
      int to = output.offset();
      for (int i = span.first(tile); i < span.end(tile); i++) {
        float x = in[from + i];
        float bent = (float) (alpha * Math.expm1(x));
        out[to + i] = Math.max(0, x) + (bent < 0 ? bent : 0);
      }
    }
  }

  /** Integers without their sign, or with the other one. */
  private record Magnitude(boolean isAbsolute, Tensor input, Tensor output, Span span)
      implements SpanStep {
    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      int[] in = frame.ints(input);
      int[] out = frame.ints(output);
      int from = input.offset();
      int to = output.offset();
      for (int i = span.first(tile); i < span.end(tile); i++) {
        int value = in[from + i];
        out[to + i] = isAbsolute ? Math.abs(value) : -value;
      }
    }
  }

  private static IntUnaryOperator function(OperationParameters parameters) {
    if (parameters instanceof LookupTable table) {
      return table::apply;
    }
    IntRange range = ((Range) parameters).stored().orElseThrow();
    return range::clamp;
  }

  /** A function of stored values, by the bits of the stored byte. */
  static byte[] table(Tensor input, IntUnaryOperator function) {
    byte[] results = new byte[256];
    for (int bits = 0; bits < results.length; bits++) {
      results[bits] = (byte) function.applyAsInt((byte) (bits ^ input.flip()) + input.flip());
    }
    return results;
  }

  /** A function of floats. */
  private record Floating(Kind kind, Clamp clamp, Tensor input, Tensor output, Span span)
      implements SpanStep {
    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      int first = span.first(tile);
      Functions.apply(
          kind,
          clamp,
          frame.floats(input),
          input.offset() + first,
          frame.floats(output),
          output.offset() + first,
          span.end(tile) - first,
          scratch.spareFloats);
    }
  }

  /** A function of stored bytes, all of whose results have been computed before. */
  record Lookup(Tensor input, Tensor output, byte[] table, Span span) implements SpanStep {
    Lookup(Tensor input, Tensor output, byte[] table, Budget budget) {
      this(input, output, table, Span.of(output.size(), 16, budget));
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      int first = span.first(tile);
      look(
          table,
          frame.bytes(input),
          input.offset() + first,
          frame.bytes(output),
          output.offset() + first,
          span.end(tile) - first);
    }

    /** Looks up a range of bytes. */
    static void look(byte[] table, byte[] in, int from, byte[] out, int to, int count) {
      for (int i = 0; i < count; i++) {
        out[to + i] = table[in[from + i] & 0xFF];
      }
    }
  }
}
