// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;

/** Questions about pairs of elements, and logic. */
public final class Comparison {
  private Comparison() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    OperandType[] all = {
      TENSOR_FLOAT32, TENSOR_INT32, TENSOR_BOOL8, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
    };
    add(table, OperationCode.EQUAL, Kind.EQUAL, false, all);
    add(table, OperationCode.NOT_EQUAL, Kind.NOT_EQUAL, false, all);
    add(table, OperationCode.LESS, Kind.LESS, false, all);
    add(table, OperationCode.LESS_EQUAL, Kind.LESS_EQUAL, false, all);
    add(table, OperationCode.GREATER, Kind.LESS, true, all);
    add(table, OperationCode.GREATER_EQUAL, Kind.LESS_EQUAL, true, all);
    add(table, OperationCode.LOGICAL_AND, Kind.AND, false, TENSOR_BOOL8);
    add(table, OperationCode.LOGICAL_OR, Kind.OR, false, TENSOR_BOOL8);
    table.add(
        OperationCode.LOGICAL_NOT,
        operation -> operation.input(0).isShapeKnown(),
        (node, tensors, budget) -> {
          Tensor input = tensors.input(node, 0);
          byte[] answers = new byte[256];
          answers[0] = 1;
          return new Activation.Lookup(input, tensors.output(node), answers, budget);
        },
        TENSOR_BOOL8);
  }

  private static void add(
      OperationTable.Builder<Lowering> table,
      OperationCode code,
      Kind kind,
      boolean isExchanged,
      OperandType... types) {
    table.add(
        code,
        Elementwise::isBroadcastPossible,
        (node, tensors, budget) -> {
          int first = isExchanged ? 1 : 0;
          Pairs pairs =
              Pairs.of(
                  tensors.input(node, first),
                  tensors.input(node, 1 - first),
                  tensors.output(node),
                  node.operation().outputShape(0));
          return new Questions(kind, pairs, budget);
        },
        types);
  }

  /** The question; each has a loop of its own. */
  enum Kind {
    EQUAL,
    NOT_EQUAL,
    LESS,
    LESS_EQUAL,
    AND,
    OR
  }

  /** A question about two tensors of a type. */
  private static final class Questions extends PairRuns {
    private final Kind kind;

    /** By the bits of stored bytes, what is compared; null where these are no bytes. */
    private final float[] lefts;

    private final float[] rights;

    Questions(Kind kind, Pairs pairs, Budget budget) {
      super(pairs, 2, budget);
      this.kind = kind;
      lefts = numbers(pairs.left());
      rights = numbers(pairs.right());
    }

    /** Stored bytes are compared by what they stand for, which is computed in float. */
    private static float[] numbers(Tensor tensor) {
      OperandType type = tensor.view().type();
      if (type.elementSize() != 1) {
        return null;
      }
      float[] numbers = new float[256];
      for (int bits = 0; bits < numbers.length; bits++) {
        numbers[bits] =
            type == TENSOR_BOOL8
                ? bits
                : ((byte) (bits ^ tensor.flip()) - tensor.signedZeroPoint())
                    * tensor.view().scale();
      }
      return numbers;
    }

    /** Floats of stored bytes on both sides. */
    @Override
    public int scratchFloats() {
      return lefts == null ? 0 : 2 * Scratch.LONGEST_RUN;
    }

    @Override
    void apply(
        Frame frame,
        Scratch scratch,
        Object first,
        int firstAt,
        Object second,
        int secondAt,
        Object out,
        int to,
        int count) {
      byte[] results = (byte[]) out;
      switch (first) {
        case float[] floats ->
            floats(floats, firstAt, (float[]) second, secondAt, results, to, count);
        case int[] ints -> ints(ints, firstAt, (int[]) second, secondAt, results, to, count);
        default -> {
          float[] numbers = scratch.floats;
          look(lefts, (byte[]) first, firstAt, numbers, 0, count);
          look(rights, (byte[]) second, secondAt, numbers, count, count);
          floats(numbers, 0, numbers, count, results, to, count);
        }
      }
    }

    private static void look(
        float[] table, byte[] stored, int from, float[] out, int to, int count) {
      for (int i = 0; i < count; i++) {
        out[to + i] = table[stored[from + i] & 0xFF];
      }
    }

    private void floats(
        float[] first, int firstAt, float[] second, int secondAt, byte[] out, int to, int count) {
      switch (kind) {
        case EQUAL -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] == second[secondAt + i] ? 1 : 0);
          }
        }
        case NOT_EQUAL -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] != second[secondAt + i] ? 1 : 0);
          }
        }
        case LESS -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] < second[secondAt + i] ? 1 : 0);
          }
        }
        case LESS_EQUAL -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] <= second[secondAt + i] ? 1 : 0);
          }
        }
        case AND -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] != 0 & second[secondAt + i] != 0 ? 1 : 0);
          }
        }
        case OR -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] != 0 | second[secondAt + i] != 0 ? 1 : 0);
          }
        }
      }
    }

    private void ints(
        int[] first, int firstAt, int[] second, int secondAt, byte[] out, int to, int count) {
      switch (kind) {
        case EQUAL -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] == second[secondAt + i] ? 1 : 0);
          }
        }
        case NOT_EQUAL -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] != second[secondAt + i] ? 1 : 0);
          }
        }
        case LESS -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] < second[secondAt + i] ? 1 : 0);
          }
        }
        case LESS_EQUAL -> {
          for (int i = 0; i < count; i++) {
            out[to + i] = (byte) (first[firstAt + i] <= second[secondAt + i] ? 1 : 0);
          }
        }
        case AND, OR -> throw new IllegalStateException("logic is of truth values");
      }
    }
  }
}
