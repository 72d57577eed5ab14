// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Selection.Axis;
import io.thalamus.operations.Selection.Top;
import io.thalamus.operations.Slice.Lookup;
import io.thalamus.operations.extension.Selection.Slices;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.List;

/**
 * Places of elements, and elements by their places: ARGMAX, ARGMIN and TOPK_V2; GATHER,
 * EMBEDDING_LOOKUP and GATHER_ND. SCATTER_ND is in {@link Scattering}.
 */
public final class Finding {
  /** The types of numbers that are compared. */
  static final OperandCode[] NUMBERS = {
    OperandCode.TENSOR_FLOAT32,
    OperandCode.TENSOR_INT32,
    OperandCode.TENSOR_QUANT8_ASYMM,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
  };

  private Finding() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {OperationCode.GATHER, OperationCode.EMBEDDING_LOOKUP}) {
      table.add(code, Finding::areTensorsKnown, Finding::lookup, Moving.TYPES);
    }
    table.add(ThalamusExtension.GATHER_ND, Finding::areTensorsKnown, Finding::slices, Moving.TYPES);
    Scattering.register(table);
    for (OperationCode code : new OperationCode[] {OperationCode.ARGMAX, OperationCode.ARGMIN}) {
      table.add(
          code,
          Finding::areTensorsKnown,
          (node, tensors, budget) ->
              new Extreme(
                  code == OperationCode.ARGMAX,
                  node.operation().parameters(Axis.class),
                  tensors.input(node, 0),
                  tensors.output(node),
                  budget),
          NUMBERS);
    }
    table.add(
        OperationCode.TOPK_V2,
        Finding::areTensorsKnown,
        (node, tensors, budget) ->
            new Tops(
                node.operation().parameters(Top.class),
                tensors.input(node, 0),
                tensors.get(node.outputs().get(0)),
                tensors.get(node.outputs().get(1)),
                budget),
        NUMBERS);
  }

  /** Returns true if the shapes of tensors, and the values of others, are known. */
  static boolean areTensorsKnown(OperationView operation) {
    return operation.inputs().stream()
        .allMatch(
            input -> input.type().isTensor() ? input.isShapeKnown() : input.value().isPresent());
  }

  private static Step lookup(Node node, Tensors tensors, Budget budget) {
    Lookup lookup = node.operation().parameters(Lookup.class);
    return new Gathered(
        tensors.input(node, lookup.valueInput()),
        tensors.input(node, lookup.indexInput()),
        tensors.output(node),
        lookup.outer(),
        lookup.indexes(),
        new Tuples(List.of(lookup.rows()), List.of((long) lookup.rowLength())),
        lookup.rowLength(),
        budget);
  }

  private static Step slices(Node node, Tensors tensors, Budget budget) {
    Slices slices = node.operation().parameters(Slices.class);
    return new Gathered(
        tensors.input(node, 0),
        tensors.input(node, 1),
        tensors.output(node),
        1,
        slices.tuples(),
        new Tuples(slices.dimensions(), slices.strides()),
        slices.sliceSize(),
        budget);
  }

  /** Rows at places that indexes tell, which are checked. */
  private static final class Gathered extends UnitStep {
    private final Tensor values;
    private final Tensor indexes;
    private final Tensor output;
    private final int group;
    private final int count;
    private final Tuples tuples;
    private final int length;

    /**
     * @param outer groups of values, of each of which all rows are taken
     * @param count of tuples of indexes, each of which is a row
     */
    Gathered(
        Tensor values,
        Tensor indexes,
        Tensor output,
        int outer,
        int count,
        Tuples tuples,
        int length,
        Budget budget) {
      super(outer * count, budget.tiles((long) outer * count * (length + 8)));
      this.values = values;
      this.indexes = indexes;
      this.output = output;
      this.count = Math.max(1, count);
      this.tuples = tuples;
      this.length = length;
      group = values.size() / Math.max(1, outer);
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      int[] places = frame.ints(indexes);
      Object in = frame.array(values);
      Object out = frame.array(output);
      int from = values.offset() + first / count * group;
      int tuple = first % count;
      for (int row = first; row < end; row++) {
        int place = tuples.place(frame, places, indexes.offset(), tuple);
        if (place < 0) {
          return;
        }
        Moving.copy(in, from + place, out, output.offset() + row * length, length);
        if (++tuple == count) {
          tuple = 0;
          from += group;
        }
      }
    }
  }

  /** The first place of the largest or the smallest element along an axis. */
  private static final class Extreme extends UnitStep {
    private final boolean isLargest;
    private final Axis axis;
    private final Tensor input;
    private final Tensor output;

    Extreme(boolean isLargest, Axis axis, Tensor input, Tensor output, Budget budget) {
      super(axis.outer() * axis.inner(), budget.tiles(2L * input.size()));
      this.isLargest = isLargest;
      this.axis = axis;
      this.input = input;
      this.output = output;
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      int[] out = frame.ints(output);
      Object in = frame.array(input);
      int inner = axis.inner();
      int size = axis.size();
      for (int i = first; i < end; i++) {
        int from = input.offset() + i / inner * size * inner + i % inner;
        out[output.offset() + i] =
            switch (in) {
              case float[] floats -> floats(floats, from, inner, size);
              case int[] ints -> ints(ints, from, inner, size);
              default -> bytes((byte[]) in, from, inner, size);
            };
      }
    }

    /** One that is no number is chosen only where it comes first, since it compares with none. */
    private int floats(float[] in, int from, int step, int count) {
      float sign = isLargest ? 1 : -1;
      int best = 0;
      float most = in[from] * sign;
      for (int i = 1; i < count; i++) {
        float one = in[from + i * step] * sign;
        if (one > most) {
          most = one;
          best = i;
        }
      }
      return best;
    }

    private int ints(int[] in, int from, int step, int count) {
      int flip = isLargest ? 0 : -1;
      int best = 0;
      int most = in[from] ^ flip;
      for (int i = 1; i < count; i++) {
        int one = in[from + i * step] ^ flip;
        if (one > most) {
          most = one;
          best = i;
        }
      }
      return best;
    }

    private int bytes(byte[] in, int from, int step, int count) {
      int flip = isLargest ? input.flip() : ~input.flip();
      int best = 0;
      int most = (byte) (in[from] ^ flip);
      for (int i = 1; i < count; i++) {
        int one = (byte) (in[from + i * step] ^ flip);
        if (one > most) {
          most = one;
          best = i;
        }
      }
      return best;
    }
  }

  /**
   * The largest elements of rows and their places, in order; of equals the later one comes first.
   */
  private static final class Tops extends UnitStep {
    private final Top top;
    private final Tensor input;
    private final Tensor values;
    private final Tensor indexes;

    Tops(Top top, Tensor input, Tensor values, Tensor indexes, Budget budget) {
      super(top.rows(), budget.tiles(16L * input.size()));
      this.top = top;
      this.input = input;
      this.values = values;
      this.indexes = indexes;
    }

    /** Numbers of the row, which are in the order of the elements. */
    @Override
    public int scratchInts() {
      return top.rowLength();
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      for (int row = first; row < end; row++) {
        int from = input.offset() + row * top.rowLength();
        if (frame.array(input) instanceof float[] floats && hasNoNumber(floats, from)) {
          inserted(floats, from, frame, row);
        } else {
          row(frame, scratch.ints, from, row);
        }
      }
    }

    private boolean hasNoNumber(float[] in, int from) {
      for (int i = from; i < from + top.rowLength(); i++) {
        if (in[i] != in[i]) {
          return true;
        }
      }
      return false;
    }

    private void row(Frame frame, int[] keys, int from, int row) {
      Object in = frame.array(input);
      keys(in, from, keys);
      int[] places = frame.ints(indexes);
      int first = indexes.offset() + row * top.k();
      top(keys, places, first);
      int to = values.offset() + row * top.k();
      Object out = frame.array(values);
      for (int i = 0; i < top.k(); i++) {
        Moving.copy(in, from + places[first + i], out, to + i, 1);
      }
    }

    private void keys(Object in, int from, int[] keys) {
      int count = top.rowLength();
      switch (in) {
        case float[] floats -> {
          for (int i = 0; i < count; i++) {
            keys[i] = Heap.key(floats[from + i]);
          }
        }
        case int[] ints -> System.arraycopy(ints, from, keys, 0, count);
        default -> {
          byte[] bytes = (byte[]) in;
          for (int i = 0; i < count; i++) {
            keys[i] = (byte) (bytes[from + i] ^ input.flip());
          }
        }
      }
    }

    /** A heap of the best so far, whose root is the worst of them; sorted in the end. */
    private void top(int[] keys, int[] places, int first) {
      int k = top.k();
      for (int i = 0; i < k; i++) {
        places[first + i] = i;
      }
      Heap.order(keys, places, first, k);
      for (int i = k; i < top.rowLength(); i++) {
        // Of equals the later one is the better one.
        if (keys[i] >= keys[places[first]]) {
          places[first] = i;
          Heap.sink(keys, places, first, 0, k);
        }
      }
      for (int size = k; size > 1; size--) {
        Heap.take(keys, places, first, size);
      }
    }

    /** As the reference does it, whose order decides where some compare with none. */
    private void inserted(float[] in, int from, Frame frame, int row) {
      float[] out = frame.floats(values);
      int[] places = frame.ints(indexes);
      int to = values.offset() + row * top.k();
      int first = indexes.offset() + row * top.k();
      for (int i = 0; i < top.rowLength(); i++) {
        float number = in[from + i];
        int place = Math.min(i, top.k());
        while (place > 0 && out[to + place - 1] <= number) {
          place--;
        }
        if (place < top.k()) {
          int moved = Math.min(i, top.k() - 1) - place;
          System.arraycopy(out, to + place, out, to + place + 1, moved);
          System.arraycopy(places, first + place, places, first + place + 1, moved);
          out[to + place] = number;
          places[first + place] = i;
        }
      }
    }
  }
}
