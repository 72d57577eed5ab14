// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Normalization.Response;
import io.thalamus.operations.OperationView;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Responses;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;

/**
 * LOCAL_RESPONSE_NORMALIZATION: each unit is some columns of one block, with all elements along the
 * axis.
 *
 * <pre>
 * | radius rows of 0 | squares, a row of columns for each element along the axis | radius rows of 0 |
 * </pre>
 */
final class LocalResponse extends UnitStep {
  /** The squares of so many columns stay in the caches next to a core. */
  private static final int MOST_COLUMNS = 128;

  /** More squares and zeros than this are left to the reference. */
  private static final int MOST_SQUARES = 1 << 20;

  private final ReducedCells cells;
  private final Response response;
  private final Tensor input;
  private final Tensor output;

  private LocalResponse(
      ReducedCells cells, Response response, Tensor input, Tensor output, Budget budget) {
    super(cells.outer() * parts(cells), budget.tiles(2L * (response.radius() + 1) * input.size()));
    this.cells = cells;
    this.response = response;
    this.input = input;
    this.output = output;
  }

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.LOCAL_RESPONSE_NORMALIZATION,
        LocalResponse::isPossible,
        (node, tensors, budget) -> {
          Response response = node.operation().parameters(Response.class);
          return new LocalResponse(
              ReducedCells.of(node.operation().inputShape(0), new int[] {response.axis()})
                  .orElseThrow(),
              response,
              tensors.input(node, 0),
              tensors.output(node),
              budget);
        },
        TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown()
        && operation.input(0).shape().elementCount() > 0
        && operation.hasValues(1)
        && StaticGraph.parameters(operation, Response.class)
            .filter(response -> response.radius() < MOST_SQUARES)
            .filter(
                response ->
                    ReducedCells.of(operation.input(0).shape(), new int[] {response.axis()})
                        .filter(cells -> squares(cells, response) <= MOST_SQUARES)
                        .isPresent())
            .isPresent();
  }

  private static int parts(ReducedCells cells) {
    return (cells.inner() + MOST_COLUMNS - 1) / MOST_COLUMNS;
  }

  private static long squares(ReducedCells cells, Response response) {
    return (cells.reduced() + 2L * response.radius()) * Math.min(cells.inner(), MOST_COLUMNS);
  }

  @Override
  public int scratchFloats() {
    return (int) squares(cells, response);
  }

  @Override
  void run(Frame frame, Scratch scratch, int first, int end) {
    int parts = parts(cells);
    int inner = cells.inner();
    int block = cells.reduced() * inner;
    float[] in = frame.floats(input);
    float[] out = frame.floats(output);
    for (int unit = first; unit < end; unit++) {
      int column = unit % parts * MOST_COLUMNS;
      int at = unit / parts * block + column;
      if (frame.isOver(scratch)) {
        return;
      }
      int columns = Math.min(MOST_COLUMNS, inner - column);
      normalize(frame, scratch, in, input.offset() + at, out, output.offset() + at, columns);
    }
  }

  private void normalize(
      Frame frame, Scratch scratch, float[] in, int from, float[] out, int to, int columns) {
    float[] squares = scratch.floats;
    int margin = response.radius() * columns;
    int count = cells.reduced() * columns;
    // Rows that follow each other are one.
    int rows = columns == cells.inner() ? 1 : cells.reduced();
    int length = count / rows;
    Arrays.fill(squares, 0, margin, 0);
    Arrays.fill(squares, margin + count, 2 * margin + count, 0);
    for (int row = 0; row < rows; row++) {
      Responses.square(in, from + row * cells.inner(), squares, margin + row * length, length);
    }
    int terms = 2 * response.radius() + 1;
    int most = Math.max(Lanes.COUNT, Budget.columns(terms));
    for (int at = 0; at < count; at += most) {
      if (frame.isOver(scratch)) {
        return;
      }
      int end = Math.min(count, at + most);
      Responses.measure(squares, at, end, columns, terms, response.alpha(), response.bias());
    }
    for (int row = 0; row < rows; row++) {
      int next = row * cells.inner();
      Responses.divide(
          in, from + next, squares, row * length, response.beta(), out, to + next, length);
    }
  }
}
