// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.Moves;
import io.thalamus.operations.Moves.Part;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/** Puts the elements of one tensor elsewhere, in runs; what else it is given are parameters. */
final class Moving {
  /** The types of what is moved. */
  static final OperandCode[] TYPES = {
    OperandCode.TENSOR_FLOAT32,
    OperandCode.TENSOR_INT32,
    OperandCode.TENSOR_BOOL8,
    OperandCode.TENSOR_QUANT16_SYMM,
    OperandCode.TENSOR_QUANT8_ASYMM,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
  };

  private Moving() {}

  /**
   * Copies a run of elements from one array to another of its type. Runs are short: where the JVM
   * does not know the type of arrays, it looks longer for it than the copy takes.
   */
  static void copy(Object in, int from, Object out, int to, int length) {
    switch (in) {
      case float[] floats -> System.arraycopy(floats, from, (float[]) out, to, length);
      case byte[] bytes -> System.arraycopy(bytes, from, (byte[]) out, to, length);
      default -> System.arraycopy(in, from, out, to, length);
    }
  }

  /** Adds operations whose parameters are {@link Moves} of their first input. */
  static void register(OperationTable.Builder<Lowering> table) {
    for (OperationType code : Moves.operations()) {
      table.add(code, Moving::isIdentity, Reshape.ALIAS, TYPES);
      table.add(code, Moving::isPossible, (Lowering.OfFirst) Moving::step, TYPES);
    }
  }

  /** Returns true if the shape of the tensor, and the values behind it, are known. */
  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown() && operation.hasValuesWhereGiven(1);
  }

  private static boolean isIdentity(OperationView operation) {
    return isPossible(operation)
        && operation.outputs().stream().allMatch(OperandView::isShapeKnown)
        && StaticGraph.parameters(operation, Moves.class)
            .filter(moves -> moves.isIdentity(operation))
            .isPresent();
  }

  /** The step of an operation whose parameters are {@link Moves}. */
  static Step step(Node node, Tensors tensors, Budget budget) {
    Moves moves = node.operation().parameters(Moves.class);
    List<Copy> copies = new ArrayList<>();
    for (Part part : moves.parts()) {
      Tensor input = tensors.input(node, part.input());
      Tensor output = tensors.get(node.outputs().get(part.output()));
      IntStream.Builder from = IntStream.builder();
      IntStream.Builder to = IntStream.builder();
      part.copy()
          .forEachRun(
              (source, target) -> {
                from.add(input.offset() + (int) source);
                to.add(output.offset() + (int) target);
              });
      byte[] table =
          part.rescaling().map(rescaling -> Activation.table(input, rescaling::apply)).orElse(null);
      copies.add(
          new Copy(
              input,
              output,
              from.build().toArray(),
              to.build().toArray(),
              part.copy().runLength(),
              (int) part.copy().runSourceStride(),
              (int) part.copy().runTargetStride(),
              table));
    }
    return new Copying(tensors.output(node), moves.fill(), copies, budget);
  }

  /**
   * Runs of elements from one place to another.
   *
   * @param input what is read
   * @param output what is written
   * @param from where each run is read
   * @param to where each run is written
   * @param length of each run
   * @param fromStride between two elements that are read
   * @param toStride between two elements that are written
   * @param table what bytes become on the way, or null
   */
  private record Copy(
      Tensor input,
      Tensor output,
      int[] from,
      int[] to,
      int length,
      int fromStride,
      int toStride,
      byte[] table) {
    void run(Frame frame, int first, int end) {
      boolean isDense = fromStride == 1 && toStride == 1 && table == null;
      Object in = frame.array(input);
      Object out = frame.array(output);
      for (int i = first; i < end; i++) {
        if (isDense) {
          copy(in, from[i], out, to[i], length);
        } else if (in instanceof float[] floats) {
          floats(floats, from[i], (float[]) out, to[i]);
        } else if (in instanceof int[] ints) {
          ints(ints, from[i], (int[]) out, to[i]);
        } else if (in instanceof short[] shorts) {
          shorts(shorts, from[i], (short[]) out, to[i]);
        } else {
          bytes((byte[]) in, from[i], (byte[]) out, to[i]);
        }
      }
    }

    private void floats(float[] in, int source, float[] out, int target) {
      for (int i = 0; i < length; i++) {
        out[target + i * toStride] = in[source + i * fromStride];
      }
    }

    private void ints(int[] in, int source, int[] out, int target) {
      for (int i = 0; i < length; i++) {
        out[target + i * toStride] = in[source + i * fromStride];
      }
    }

    private void shorts(short[] in, int source, short[] out, int target) {
      for (int i = 0; i < length; i++) {
        out[target + i * toStride] = in[source + i * fromStride];
      }
    }

    private void bytes(byte[] in, int source, byte[] out, int target) {
      if (fromStride == 1 && toStride == 1) {
        Activation.Lookup.look(table, in, source, out, target, length);
        return;
      }
      for (int i = 0; i < length; i++) {
        byte value = in[source + i * fromStride];
        out[target + i * toStride] = table == null ? value : table[value & 0xFF];
      }
    }
  }

  /** Fills where something is to be filled, then copies. */
  private static final class Copying implements Step {
    private final Tensor output;
    private final OptionalInt fill;
    private final List<Copy> copies;
    private final int tiles;

    Copying(Tensor output, OptionalInt fill, List<Copy> copies, Budget budget) {
      this.output = output;
      this.fill = fill;
      this.copies = copies;
      // What is filled must be filled before anything is copied.
      tiles = fill.isPresent() ? 1 : budget.tiles(output.size());
    }

    @Override
    public int tiles() {
      return tiles;
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      if (fill.isPresent()) {
        int end = output.offset() + output.size();
        int bits = fill.getAsInt();
        switch (frame.array(output)) {
          case float[] floats ->
              Arrays.fill(floats, output.offset(), end, Float.intBitsToFloat(bits));
          case int[] ints -> Arrays.fill(ints, output.offset(), end, bits);
          case short[] shorts -> Arrays.fill(shorts, output.offset(), end, (short) bits);
          case Object bytes -> Arrays.fill((byte[]) bytes, output.offset(), end, (byte) bits);
        }
      }
      for (Copy copy : copies) {
        int runs = copy.from().length;
        int first = (int) ((long) runs * tile / tiles);
        int end = (int) ((long) runs * (tile + 1) / tiles);
        copy.run(frame, first, end);
      }
    }
  }
}
