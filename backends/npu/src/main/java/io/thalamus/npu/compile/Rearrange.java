// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Moves;
import io.thalamus.operations.ResolvedOperation;
import java.util.ArrayList;
import java.util.List;

/** Operations that copy whole tensors into parts of another: CONCATENATION, PAD. */
final class Rearrange {
  /** More pieces than these are not worth a layer each. */
  private static final int MAX_PIECES = 64;

  private Rearrange() {}

  static void register(LoweringTable table) {
    table
        .add(OperationCode.CONCATENATION, Rearrange::lower, Types.all())
        .add(OperationCode.PAD, Rearrange::lower, ElementTypes.quantized8());
  }

  /**
   * Rows that are read one behind the other and written at equal distances.
   *
   * @param first index among all runs
   * @param target element where the first is written
   */
  private record Piece(int first, long target, long distance, int rows) {}

  private static List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    Moves moves = operation.parameters(Moves.class);
    List<Layer<?>> layers = new ArrayList<>();
    moves.fill().ifPresent(value -> layers.add(new FillLayer(output, (byte) value)));
    for (Moves.Part part : moves.parts()) {
      Tensor input = inputs.get(part.input());
      List<Piece> pieces = pieces(part);
      if (pieces.isEmpty() || pieces.size() > MAX_PIECES) {
        return List.of();
      }
      Constant table =
          part.rescaling()
              .map(rescaling -> Types.table(input.type(), rescaling::apply))
              .orElse(null);
      int size = input.elementSize();
      int run = part.copy().runLength() * size;
      for (Piece piece : pieces) {
        layers.add(
            new CopyLayer(
                input,
                piece.first() * run,
                output,
                Math.toIntExact(piece.target() * size),
                piece.rows(),
                run,
                Math.toIntExact(piece.distance() * size),
                table));
      }
    }
    return layers;
  }

  /** The pieces of a copy that reads its source from the first element to the last; else none. */
  private static List<Piece> pieces(Moves.Part part) {
    int run = part.copy().runLength();
    if (run > 1 && (part.copy().runSourceStride() != 1 || part.copy().runTargetStride() != 1)) {
      return List.of();
    }
    List<Piece> pieces = new ArrayList<>();
    boolean[] isDense = {true};
    int[] count = {0};
    part.copy()
        .forEachRun(
            (source, target) -> {
              isDense[0] &= source == (long) count[0] * run;
              append(pieces, count[0]++, target, run);
            });
    return isDense[0] ? pieces : List.of();
  }

  private static void append(List<Piece> pieces, int index, long target, int run) {
    if (pieces.isEmpty()) {
      pieces.add(new Piece(index, target, run, 1));
      return;
    }
    Piece last = pieces.getLast();
    long distance = target - last.target() - (last.rows() - 1) * last.distance();
    if (last.rows() == 1 && distance >= run) {
      pieces.set(pieces.size() - 1, new Piece(last.first(), last.target(), distance, 2));
    } else if (distance == last.distance()) {
      pieces.set(
          pieces.size() - 1, new Piece(last.first(), last.target(), distance, last.rows() + 1));
    } else {
      pieces.add(new Piece(index, target, run, 1));
    }
  }
}
