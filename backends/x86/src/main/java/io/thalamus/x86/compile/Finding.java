// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Selection.Axis;
import io.thalamus.operations.Selection.Top;
import io.thalamus.operations.Slice.Lookup;
import io.thalamus.operations.extension.Selection.Scattered;
import io.thalamus.operations.extension.Selection.Slices;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.CheckedIndexes;
import io.thalamus.x86.kernel.FoundRows;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.GatheredRows;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.ScatteredRows;
import io.thalamus.x86.kernel.SortedRows;
import io.thalamus.x86.kernel.Strided;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Places of elements, and elements by their places: ARGMAX, ARGMIN and TOPK_V2; GATHER,
 * EMBEDDING_LOOKUP, GATHER_ND and SCATTER_ND.
 */
public final class Finding {
  /** Elements of a call. */
  private static final int LONGEST = 1 << 15;

  /** Calls of an operation. */
  static final long MOST_CALLS = 1 << 14;

  /** Elements that a call moves at most, to sort rows: some milliseconds. */
  static final long MOST_MOVED = 1 << 22;

  /** The input of SCATTER_ND that has the updates; their code is the next one. */
  private static final int UPDATES = 2;

  private Finding() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code : new OperationCode[] {OperationCode.ARGMAX, OperationCode.ARGMIN}) {
      table.add(
          code,
          Finding::isFindPossible,
          (operation, operands, program) ->
              find(code == OperationCode.ARGMAX, operation, operands, program),
          ElementTypes.numbers());
    }
    table.add(OperationCode.TOPK_V2, Finding::isTopPossible, Finding::top, ElementTypes.numbers());
    for (OperationCode code :
        new OperationCode[] {OperationCode.GATHER, OperationCode.EMBEDDING_LOOKUP}) {
      table.add(code, Finding::isLookupPossible, Finding::lookup, Moving.TYPES);
    }
    table.add(
        ThalamusExtension.GATHER_ND,
        Finding::areSlicesPossible,
        Finding::gatherSlices,
        Moving.TYPES);
    table.add(
        ThalamusExtension.SCATTER_ND,
        Finding::areUpdatesPossible,
        Finding::scatterSlices,
        Moving.TYPES);
  }

  private static boolean isFindPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.input(1).value().isPresent()
        && StaticGraph.parameters(operation, Axis.class)
            .filter(
                axis ->
                    axis.size() < FoundRows.MOST
                        && (axis.inner() == 1 || axis.outer() < MOST_CALLS))
            .isPresent();
  }

  private static void find(
      boolean isLargest,
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program) {
    Axis axis = operation.parameters(Axis.class);
    OperandType type = operation.view().input(0).type();
    Place from = operands.input(0);
    boolean isInteger = type == OperandCode.TENSOR_INT32;
    if (type.elementSize() < Float.BYTES) {
      from = Casting.widen(type, from, Type.FLOAT32, program);
    }
    if (axis.inner() > 1) {
      from = lastAxis(axis, from, program);
    }
    int rows = axis.outer() * axis.inner();
    FunctionSource found = new FoundRows(isLargest, isInteger, axis.size());
    int most = Math.max(1, LONGEST / axis.size());
    program.callInParts(found, rows, most, from.at(0), operands.output().at(0));
  }

  /** Returns where elements along the axis stand beside each other. */
  private static Place lastAxis(Axis axis, Place from, ProgramBuilder program) {
    Place to = program.place(from.bytes());
    for (int i = 0; i < axis.outer(); i++) {
      long at = (long) i * axis.size() * axis.inner() * Float.BYTES;
      Moving.transpose(axis.size(), axis.inner(), from.at(at), to.at(at), program);
    }
    return to;
  }

  private static boolean isTopPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.input(1).value().isPresent()
        && StaticGraph.parameters(operation, Top.class)
            .filter(top -> top.k() > 0 && (long) top.rowLength() * top.k() < MOST_MOVED)
            .filter(top -> top.rows() < MOST_CALLS)
            .isPresent();
  }

  /** Sorts integers that are in the order of the elements, which they become again in the end. */
  private static void top(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Top top = operation.parameters(Top.class);
    OperandType type = operation.view().input(0).type();
    boolean isFloat = type == OperandCode.TENSOR_FLOAT32 || type == OperandCode.TENSOR_FLOAT16;
    Place keys = operands.input(0);
    if (type.elementSize() < Integer.BYTES) {
      keys = Casting.widen(type, keys, isFloat ? Type.FLOAT32 : Type.INT32, program);
    }
    if (isFloat) {
      Place floats = keys;
      keys = program.place(floats.bytes());
      Elementwise.map(Kind.INT_OF_ORDER, floats, keys, program);
    }
    long results = (long) top.rows() * top.k();
    Place sorted = sort(new SortedRows(top.rowLength(), top.k(), true), top.rows(), keys, program);
    half(sorted, 0, operands.output(1), results, program);
    if (type == OperandCode.TENSOR_INT32) {
      half(sorted, Integer.BYTES, operands.output(), results, program);
      return;
    }
    Place values = program.place(results * Integer.BYTES);
    half(sorted, Integer.BYTES, values, results, program);
    if (type == OperandCode.TENSOR_FLOAT32) {
      Elementwise.map(Kind.FLOAT_OF_ORDER, values, operands.output(), program);
      return;
    }
    Place numbers = values;
    if (isFloat) {
      numbers = program.place(values.bytes());
      Elementwise.map(Kind.FLOAT_OF_ORDER, values, numbers, program);
    }
    Casting.cast(
        isFloat ? Type.FLOAT32 : Type.INT32,
        numbers,
        Casting.type(type).orElseThrow(),
        operands.output(),
        results,
        program);
  }

  /** Returns where the results of so many rows stand. */
  static Place sort(SortedRows sorting, int rows, Place keys, ProgramBuilder program) {
    Place sorted = program.place(rows * sorting.bytes() + Long.BYTES);
    int most = (int) Math.max(1, MOST_MOVED / ((long) sorting.count() * sorting.top()));
    for (int row = 0; row < rows; row += most) {
      program.call(
          sorting,
          Math.min(most, rows - row),
          keys.at((long) row * sorting.count() * Integer.BYTES),
          sorted.at(row * sorting.bytes()));
      // Bytes behind a row belong to the next one.
      program.barrier();
    }
    return sorted;
  }

  /** Copies the lower or the upper halves of elements of 64 bits. */
  static void half(Place from, int at, Place to, long count, ProgramBuilder program) {
    Moving.words(from.at(at), Long.BYTES, to.at(0), count, program);
  }

  private static boolean isLookupPossible(OperationView operation) {
    for (OperandView input : operation.inputs()) {
      if (input.type().isTensor() ? !Sizes.isPossible(input) : input.value().isEmpty()) {
        return false;
      }
    }
    return StaticGraph.parameters(operation, Lookup.class)
        .filter(lookup -> isLookupPossible(operation, lookup))
        .isPresent();
  }

  private static boolean isLookupPossible(OperationView operation, Lookup lookup) {
    OperandView indexes = operation.input(lookup.indexInput());
    long calls = (long) lookup.outer() * lookup.indexes();
    if (indexes.value().isPresent()) {
      // Wrong ones fail each run, which is for the reference to say.
      int[] all = indexes.int32s();
      if (Arrays.stream(all).anyMatch(index -> index < 0 || index >= lookup.rows())) {
        return false;
      }
      int size = operation.output().type().elementSize();
      calls = Math.min(Lines.ofGroups(all, lookup).calls(), Lines.ofAll(all, lookup, size).calls());
    }
    return calls < MOST_CALLS * 16 && Sizes.isPossible(operation.output());
  }

  /**
   * Constant indexes whose distances are equal, one after the other.
   *
   * @param place of the first index among all
   */
  private record Line(int place, int index, int count, int step) {}

  /**
   * The lines of an operation.
   *
   * @param calls that copy them
   */
  private record Lines(List<Line> lines, long calls) {
    /** Returns lines whose rows are copied by a call for each group. */
    static Lines ofGroups(int[] indexes, Lookup lookup) {
      List<Line> lines = lines(indexes, step -> step >= 0);
      return new Lines(lines, (long) lookup.outer() * lines.size());
    }

    /** Returns lines whose elements are copied by a call for many groups. */
    static Lines ofAll(int[] indexes, Lookup lookup, int size) {
      // Elements of longer rows have no common distance unless the rows stand side by side.
      List<Line> lines = lines(indexes, step -> step == 1 || lookup.rowLength() == 1);
      long row = (long) lookup.rowLength() * size;
      long calls =
          lines.stream()
              .mapToLong(line -> Math.ceilDiv(lookup.outer(), groups(line.count() * row)))
              .sum();
      return new Lines(lines, calls);
    }

    /** Returns the number of groups of which a call copies some bytes each. */
    static int groups(long bytes) {
      return (int) Math.max(1, LONGEST * Float.BYTES / bytes);
    }

    private static List<Line> lines(int[] indexes, IntPredicate isStep) {
      List<Line> lines = new ArrayList<>();
      int end;
      for (int first = 0; first < indexes.length; first = end) {
        end = first + 1;
        int step = end < indexes.length ? indexes[end] - indexes[first] : 0;
        while (end < indexes.length
            && isStep.test(step)
            && indexes[end] - indexes[end - 1] == step) {
          end++;
        }
        lines.add(new Line(first, indexes[first], end - first, step));
      }
      return lines;
    }
  }

  /** Copies rows by indexes that are known in a run. */
  private static void gather(
      Lookup lookup, int size, Lowering.Operands operands, ProgramBuilder program) {
    int row = lookup.rowLength() * size;
    CheckedIndexes indexes =
        new CheckedIndexes(lookup.indexes(), List.of(lookup.rows()), List.of(row));
    Place places = check(indexes, operands.input(lookup.indexInput()), program);
    long table = (long) lookup.rows() * row;
    FunctionSource rows = new GatheredRows(table, row);
    int most = Math.max(1, LONGEST * Float.BYTES / row);
    for (int outer = 0; outer < lookup.outer(); outer++) {
      program.callInParts(
          rows,
          lookup.indexes(),
          most,
          operands.input(lookup.valueInput()).at(outer * table),
          operands.output().at((long) outer * lookup.indexes() * row),
          places.at(indexes.places()));
    }
  }

  /** Returns where a run finds the beginnings of rows; a run that meets a wrong index fails. */
  static Place check(CheckedIndexes indexes, Place from, ProgramBuilder program) {
    Place places = program.place(indexes.bytes());
    program.call(indexes, from.at(0), places.at(0));
    for (int i = 0; i < indexes.limits().size(); i++) {
      program.check(places, i * CheckedIndexes.STATUS, indexes.limits().get(i));
    }
    return places;
  }

  private static boolean areSlicesPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && Sizes.isPossible(operation.input(1))
        && Sizes.isPossible(operation.output())
        && StaticGraph.parameters(operation, Slices.class)
            .filter(slices -> areGood(slices, operation.input(1)))
            .isPresent();
  }

  private static boolean areGood(Slices slices, OperandView indexes) {
    if (slices.tuples() >= MOST_CALLS * 16 || indexes.value().isEmpty()) {
      return slices.tuples() < MOST_CALLS * 16;
    }
    int[] all = indexes.int32s();
    List<Integer> dimensions = slices.dimensions();
    return IntStream.range(0, all.length)
        .allMatch(i -> all[i] >= 0 && all[i] < dimensions.get(i % dimensions.size()));
  }

  private static boolean areUpdatesPossible(OperationView operation) {
    return operation.inputs().stream().limit(UPDATES + 1).allMatch(Sizes::isPossible)
        && operation.input(UPDATES + 1).value().isPresent()
        && StaticGraph.parameters(operation, Scattered.class)
            .filter(scattered -> areGood(scattered.slices(), operation.input(1)))
            .filter(scattered -> pair(scattered.update(), operation.output().type()).isPresent())
            .isPresent();
  }

  /** Returns the function of an update; empty if it would compute with less than 32 bits. */
  private static Optional<Pair> pair(Update update, OperandType type) {
    if (update != Update.REPLACE && type.elementSize() != Float.BYTES) {
      return Optional.empty();
    }
    boolean isFloat = type == OperandCode.TENSOR_FLOAT32;
    return Optional.of(
        switch (update) {
          case REPLACE -> Pair.FIRST;
          case ADD -> isFloat ? Pair.ADD : Pair.INT_ADD;
          case MULTIPLY -> isFloat ? Pair.MUL : Pair.INT_MUL;
          case MAXIMUM -> isFloat ? Pair.MAXIMUM : Pair.INT_MAXIMUM;
          case MINIMUM -> isFloat ? Pair.MINIMUM : Pair.INT_MINIMUM;
        });
  }

  private static CheckedIndexes indexes(Slices slices, int size) {
    return new CheckedIndexes(
        slices.tuples(),
        slices.dimensions(),
        slices.strides().stream().map(stride -> Math.toIntExact(stride * size)).toList());
  }

  /** Copies slices by tuples of indexes that are known in a run. */
  private static void gatherSlices(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Slices slices = operation.parameters(Slices.class);
    int size = operation.view().output().type().elementSize();
    CheckedIndexes indexes = indexes(slices, size);
    Place places = check(indexes, operands.input(1), program);
    int slice = slices.sliceSize() * size;
    FunctionSource rows = new GatheredRows(operands.input(0).bytes(), slice);
    int most = Math.max(1, LONGEST * Float.BYTES / slice);
    program.callInParts(
        rows,
        slices.tuples(),
        most,
        operands.input(0).at(0),
        operands.output().at(0),
        places.at(indexes.places()));
  }

  /** Copies a tensor and then, in their order, updates of slices, some in each call. */
  private static void scatterSlices(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Scattered scattered = operation.parameters(Scattered.class);
    Slices slices = scattered.slices();
    OperandType type = operation.view().output().type();
    int size = type.elementSize();
    CheckedIndexes indexes = indexes(slices, size);
    Place places = check(indexes, operands.input(1), program);
    Moving.copy(operands.input(0), operands.output(), program);
    int slice = slices.sliceSize() * size;
    FunctionSource rows =
        new ScatteredRows(
            operands.output().bytes(), slice, pair(scattered.update(), type).orElseThrow());
    int most = Math.max(1, LONGEST * Float.BYTES / slice);
    for (int tuple = 0; tuple < slices.tuples(); tuple += most) {
      program.barrier();
      program.call(
          rows,
          Math.min(most, slices.tuples() - tuple),
          operands.input(UPDATES).at((long) tuple * slice),
          operands.output().at(0),
          places.at(indexes.places() + (long) tuple * Long.BYTES));
    }
    program.barrier();
  }

  private static void lookup(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Lookup lookup = operation.parameters(Lookup.class);
    int size = operation.view().output().type().elementSize();
    if (operation.view().input(lookup.indexInput()).value().isEmpty()) {
      gather(lookup, size, operands, program);
      return;
    }
    int[] indexes = operation.view().input(lookup.indexInput()).int32s();
    Lines byGroup = Lines.ofGroups(indexes, lookup);
    Lines byLine = Lines.ofAll(indexes, lookup, size);
    if (byLine.calls() < byGroup.calls()) {
      copyLines(byLine.lines(), lookup, size, operands, program);
    } else {
      copyGroups(byGroup.lines(), lookup, size, operands, program);
    }
  }

  /** Copies for each group the rows of each line. */
  private static void copyGroups(
      List<Line> lines,
      Lookup lookup,
      int size,
      Lowering.Operands operands,
      ProgramBuilder program) {
    int row = lookup.rowLength() * size;
    Place from = operands.input(lookup.valueInput());
    for (int outer = 0; outer < lookup.outer(); outer++) {
      for (Line line : lines) {
        int step = line.count() == 1 ? 0 : Math.toIntExact((long) line.step() * row);
        program.call(
            new Strided(size, lookup.rowLength(), size, size, step, row),
            line.count(),
            from.at(((long) outer * lookup.rows() + line.index()) * row),
            operands.output().at(((long) outer * lookup.indexes() + line.place()) * row));
      }
    }
  }

  /** Copies each line for all groups: its elements, where rows have one, or its bytes. */
  private static void copyLines(
      List<Line> lines,
      Lookup lookup,
      int size,
      Lowering.Operands operands,
      ProgramBuilder program) {
    int row = lookup.rowLength() * size;
    for (Line line : lines) {
      int elements = line.count() * lookup.rowLength();
      int step = lookup.rowLength() == 1 && line.count() > 1 ? line.step() : 1;
      // A line that goes back begins at its last index.
      int index = step < 0 ? line.index() + step * (line.count() - 1) : line.index();
      program.callInParts(
          new Strided(
              size, elements, step * size, size, lookup.rows() * row, lookup.indexes() * row),
          lookup.outer(),
          Lines.groups((long) elements * size),
          operands.input(lookup.valueInput()).at((long) index * row),
          operands.output().at((long) line.place() * row));
    }
  }
}
