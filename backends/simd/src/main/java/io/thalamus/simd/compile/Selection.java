// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Selection.Choice;
import io.thalamus.simd.program.ElementKind;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Span;
import io.thalamus.simd.program.Tensor;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/** Operations that choose elements by what they are. */
public final class Selection {
  private Selection() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.SELECT,
        Selection::isPossible,
        (node, tensors, budget) -> {
          Choice choice = node.operation().parameters(Choice.class);
          Tensor output = tensors.output(node);
          Tensor first = tensors.input(node, 1);
          Tensor second = tensors.input(node, 2);
          return new Select(
              tensors.input(node, 0),
              first,
              second,
              output,
              table(first, choice.first()),
              table(second, choice.second()),
              Span.of(output.size(), 2, budget));
        },
        Finding.NUMBERS);
  }

  private static boolean isPossible(OperationView operation) {
    return operation.inputs().stream().allMatch(input -> input.isShapeKnown());
  }

  private static byte[] table(Tensor input, Optional<LookupTable> rescaling) {
    IntUnaryOperator function =
        rescaling.isPresent() ? rescaling.get()::apply : IntUnaryOperator.identity();
    return input.kind() == ElementKind.BYTES ? Activation.table(input, function) : null;
  }

  /**
   * Elements of one or the other of two tensors.
   *
   * @param firstTable what stored bytes of the first become; null where these are no bytes
   * @param secondTable the same for the second
   */
  private record Select(
      Tensor condition,
      Tensor first,
      Tensor second,
      Tensor output,
      byte[] firstTable,
      byte[] secondTable,
      Span span)
      implements SpanStep {
    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      byte[] answers = frame.bytes(condition);
      int from = span.first(tile);
      int count = span.end(tile) - from;
      int asked = condition.offset() + from;
      int left = first.offset() + from;
      int right = second.offset() + from;
      int to = output.offset() + from;
      switch (frame.array(output)) {
        case float[] out -> {
          float[] a = frame.floats(first);
          float[] b = frame.floats(second);
          for (int i = 0; i < count; i++) {
            out[to + i] = answers[asked + i] != 0 ? a[left + i] : b[right + i];
          }
        }
        case int[] out -> {
          int[] a = frame.ints(first);
          int[] b = frame.ints(second);
          for (int i = 0; i < count; i++) {
            out[to + i] = answers[asked + i] != 0 ? a[left + i] : b[right + i];
          }
        }
        default -> {
          byte[] out = frame.bytes(output);
          byte[] a = frame.bytes(first);
          byte[] b = frame.bytes(second);
          for (int i = 0; i < count; i++) {
            out[to + i] =
                answers[asked + i] != 0
                    ? firstTable[a[left + i] & 0xFF]
                    : secondTable[b[right + i] & 0xFF];
          }
        }
      }
    }
  }
}
