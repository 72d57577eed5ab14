// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.MatrixRun;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.MatrixMultiply.Matrix;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.kernel.Area;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.PairedRows;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.StoredProduct;
import io.thalamus.x86.kernel.StoredProduct.Form;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.Transposed;
import io.thalamus.x86.kernel.WidenedRows;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Products of 8-bit matrices that both are computed, as in attention: words are multiplied, and the
 * second matrices are packed by each run. Used once.
 */
final class StoredMatrices {
  /** Bytes of a call. */
  private static final int LONGEST = 1 << 16;

  /** Columns that are transposed at a time: those that stand beside each other in a panel. */
  private static final int SIDE = 4;

  private static final int[] NO_BIAS = {};

  private final ProgramBuilder program;
  private final Products products;
  private final Accumulation accumulation;
  private final boolean isSigned;
  private final Scaling scaling;

  private StoredMatrices(ResolvedOperation operation, ProgramBuilder program) {
    this.program = program;
    products = operation.parameters(Products.class);
    accumulation = products.quantized().orElseThrow();
    isSigned = StoredConvolution.isSigned(operation.view());
    scaling =
        Scaling.of(
            Collections.nCopies(products.columns(), accumulation.output().getFirst()),
            accumulation.outputZeroPoint(),
            accumulation.activation());
  }

  /** Some channels of the second matrices. */
  private record Part(Length length, int channel, int channels, int vectors) {}

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.BATCH_MATMUL,
        StoredMatrices::isPossible,
        (operation, operands, program) ->
            new StoredMatrices(operation, program)
                .emit(
                    rowByRow(operation, operands.input(0), program),
                    operands.input(1),
                    operands.output()),
        ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    return Convolution.areProductsPossible(operation)
        && StaticGraph.parameters(operation, Products.class)
            .filter(
                them ->
                    Scaling.isPossible(
                        them.quantized().orElseThrow(),
                        NO_BIAS,
                        them.inner() * StoredConvolution.LARGEST_PRODUCT))
            .isPresent();
  }

  /** Returns where the first matrices stand row by row. */
  private static Place rowByRow(ResolvedOperation operation, Place from, ProgramBuilder program) {
    Products products = operation.parameters(Products.class);
    if (!operation.view().input(2).bool()) {
      return from;
    }
    Place to = program.place(from.bytes());
    int rows = products.rows();
    int inner = products.inner();
    Strided column = new Strided(1, inner, rows, 1, 1, inner);
    int most = Math.max(1, LONGEST / inner);
    for (long at = 0; at < from.bytes(); at += (long) rows * inner) {
      program.callInParts(column, rows, most, from.at(at), to.at(at));
    }
    return to;
  }

  private void emit(Place first, Place second, Place output) {
    Place rows = program.place(first.bytes() * Short.BYTES);
    for (long at = 0; at < first.bytes(); at += LONGEST) {
      int count = (int) Math.min(LONGEST, first.bytes() - at);
      program.call(
          widened(accumulation.inputZeroPoint(), count, 0),
          first.at(at),
          rows.at(at * Short.BYTES));
    }
    List<Part> parts = parts();
    Map<Matrix, Place[]> panels = new HashMap<>();
    List<Runnable> calls = new ArrayList<>();
    for (MatrixRun run : MatrixRun.of(products)) {
      Place[] packed = panels.computeIfAbsent(run.second(), matrix -> pack(matrix, second, parts));
      calls.add(() -> multiply(run, rows, packed, parts, output));
    }
    // All are packed before the first is read: neither waits for its neighbour.
    calls.forEach(Runnable::run);
  }

  private FunctionSource widened(int zeroPoint, int count, int after) {
    return new WidenedRows(0, count, after, zeroPoint, isSigned);
  }

  private List<Part> parts() {
    List<Part> parts = new ArrayList<>();
    int channel = 0;
    while (channel < products.columns()) {
      int left = products.columns() - channel;
      Length length = StoredLayer.length(program.emitter(), left);
      int pairs = length == Length.YMM || left <= Rescale.pair(length) * 3 / 2 ? 1 : 2;
      int channels = Math.min(left, pairs * Rescale.pair(length));
      int vectors = 2 * Math.ceilDiv(channels, Rescale.pair(length));
      parts.add(new Part(length, channel, channels, vectors));
      channel += channels;
    }
    return parts;
  }

  private int groups() {
    return Math.ceilDiv(products.inner(), Form.WORDS.group());
  }

  private int bytesOfNumbers(Part part) {
    return scaling.rescale().arrays() * part.vectors() * part.length().bytes();
  }

  /** Has a run write the panels of a matrix. */
  private Place[] pack(Matrix matrix, Place from, List<Part> parts) {
    Place words = matrix.columnStride() == 1 ? null : columns(matrix, from);
    Place[] panels = new Place[parts.size()];
    for (int i = 0; i < panels.length; i++) {
      Part part = parts.get(i);
      int numbers = bytesOfNumbers(part);
      ByteBuffer bytes = ByteBuffer.allocate(numbers).order(ByteOrder.LITTLE_ENDIAN);
      scaling.write(
          bytes, part.length(), part.vectors(), 0, part.channels(), new int[part.channels()]);
      Place panel =
          program.place(numbers + (long) groups() * part.vectors() * part.length().bytes());
      program.call(
          new Strided(1, numbers, 1, 1, 0, 0),
          program.constantPlace(bytes.array()).at(0),
          panel.at(0));
      if (words == null) {
        packRows(matrix, from, part, panel);
      } else {
        packColumns(words, part, panel);
      }
      panels[i] = panel;
    }
    return panels;
  }

  private void packRows(Matrix matrix, Place from, Part part, Place panel) {
    int row = Math.toIntExact(matrix.rowStride());
    int group = part.vectors() * part.length().bytes();
    int whole = products.inner() / Form.WORDS.group();
    int most = Math.max(1, LONGEST / part.channels());
    for (int done = 0; done < groups(); ) {
      boolean isSingle = done == whole;
      int some = isSingle ? 1 : Math.min(most, whole - done);
      program.call(
          new PairedRows(
              part.length(),
              part.channels(),
              isSingle,
              row,
              accumulation.filterZeroPoint(),
              isSigned),
          some,
          from.at(matrix.offset() + 2L * done * row + part.channel()),
          panel.at(bytesOfNumbers(part) + (long) done * group));
      done += some;
    }
  }

  /** Returns the columns of a matrix as words, an even number of them each. */
  private Place columns(Matrix matrix, Place from) {
    int inner = products.inner();
    int words = groups() * Form.WORDS.group();
    Place to = program.place((long) products.columns() * words * Short.BYTES);
    FunctionSource rows = widened(accumulation.filterZeroPoint(), inner, words - inner);
    int most = Math.max(1, LONGEST / inner);
    program.callInParts(rows, products.columns(), most, from.at(matrix.offset()), to.at(0));
    return to;
  }

  private void packColumns(Place words, Part part, Place panel) {
    Length length = part.length();
    int group = part.vectors() * length.bytes();
    int pair = Rescale.pair(length);
    int column = groups() * Integer.BYTES;
    int most = LONGEST / SIDE;
    for (int c = 0; c < part.channels(); c += SIDE) {
      int at = c / pair * 2 * length.bytes() + Rescale.position(length, c % pair) * Integer.BYTES;
      for (int done = 0; done < groups(); done += most) {
        Transposed square =
            new Transposed(
                Math.min(SIDE, part.channels() - c),
                Math.min(most, groups() - done),
                column,
                group);
        program.call(
            square,
            words.at((long) (part.channel() + c) * column + (long) done * Integer.BYTES),
            panel.at(bytesOfNumbers(part) + (long) done * group + at));
      }
    }
  }

  private void multiply(MatrixRun run, Place rows, Place[] panels, List<Part> parts, Place output) {
    Results lines =
        Results.ofLine(
            run.count() * products.rows(), products.inner() * Short.BYTES, products.columns());
    for (int i = 0; i < panels.length; i++) {
      Part part = parts.get(i);
      int most = StoredProduct.mostRows(part.length(), Form.WORDS, false, false, part.vectors());
      long results = Results.MOST_PRODUCTS / ((long) part.channels() * products.inner());
      for (Results.Part some : lines.parts(most, results)) {
        program.call(
            product(part, some.area()),
            rows.at(run.firstOffset() * Short.BYTES + some.from()),
            output.at(
                (long) run.begin() * products.rows() * products.columns()
                    + part.channel()
                    + some.to()),
            panels[i].at(0));
      }
    }
  }

  private StoredProduct product(Part part, Area area) {
    return new StoredProduct(
        false,
        part.length(),
        Form.WORDS,
        false,
        0,
        area,
        part.vectors(),
        part.channels(),
        1,
        0,
        1,
        0,
        products.inner(),
        products.columns(),
        Optional.of(scaling.rescale()));
  }
}
