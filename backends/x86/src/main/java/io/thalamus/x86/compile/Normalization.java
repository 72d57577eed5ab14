// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.Normalization.Moments;
import io.thalamus.operations.Normalization.Norm;
import io.thalamus.operations.Normalization.Response;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Normalization.Groups;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.ElementChain.Tensor;
import io.thalamus.x86.kernel.ByteNorms;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.NormalizedRows;
import io.thalamus.x86.kernel.PaddedRows;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Pairs;
import io.thalamus.x86.kernel.Reducing;

/**
 * Elements divided by a measure of their neighbours: L2_NORMALIZATION,
 * LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION and LAYER_NORMALIZATION.
 */
public final class Normalization {
  /** Floats of a call. */
  private static final int LONGEST = 1 << 15;

  /** Floats along an axis and behind it, whose neighbours are summed by one call for each. */
  private static final long LONGEST_RUN = 1 << 21;

  /** A smaller norm is taken for this one. */
  private static final float LEAST_NORM = 1e-6f;

  /** Neighbours on either side, each of which is a sum. */
  private static final int MOST_RADIUS = 16;

  private Normalization() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.L2_NORMALIZATION,
            Normalization::isNorm,
            Normalization::l2,
            TENSOR_FLOAT32)
        .add(
            OperationCode.L2_NORMALIZATION,
            Normalization::areBytesPossible,
            Normalization::l2OfBytes,
            ElementTypes.quantized8())
        .add(
            OperationCode.LOCAL_RESPONSE_NORMALIZATION,
            Normalization::isResponse,
            Normalization::response,
            TENSOR_FLOAT32)
        .add(
            OperationCode.INSTANCE_NORMALIZATION,
            Normalization::isInstance,
            Normalization::instance,
            TENSOR_FLOAT32)
        .add(
            ThalamusExtension.LAYER_NORMALIZATION,
            Normalization::isLayer,
            Normalization::layer,
            TENSOR_FLOAT32);
  }

  private static boolean isNorm(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.hasValues(1)
        && StaticGraph.parameters(operation, Norm.class)
            .filter(
                norm ->
                    Composed.isPossible(Composed.cells(operation.input(0).shape(), norm.axis())))
            .isPresent();
  }

  private static void l2(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    ReducedCells cells =
        Composed.cells(operation.inputShape(0), operation.parameters(Norm.class).axis());
    Place from = operands.input(0);
    if (cells.inner() == 1) {
      rows(
          new NormalizedRows(false, cells.reduced(), LEAST_NORM),
          cells.outer(),
          from,
          operands.output(),
          program);
      return;
    }
    Composed steps = new Composed(cells, program);
    Place squares = steps.newWhole();
    steps.whole(Pair.MUL, from, from, squares);
    Place norm = steps.map(Kind.SQRT, steps.reduce(Reducing.SUM, squares));
    steps.spread(Pair.DIV, from, steps.with(Pair.MAXIMUM, norm, LEAST_NORM), operands.output());
  }

  /** Bytes of a row stand beside each other, and are not too many. */
  private static boolean areBytesPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.hasValues(1)
        && StaticGraph.parameters(operation, Norm.class)
            .map(norm -> Composed.cells(operation.input(0).shape(), norm.axis()))
            .filter(cells -> cells.inner() == 1 && cells.reduced() <= ByteNorms.MOST)
            .isPresent();
  }

  private static void l2OfBytes(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    ReducedCells cells =
        Composed.cells(operation.inputShape(0), operation.parameters(Norm.class).axis());
    ByteNorms row =
        new ByteNorms(
            cells.reduced(),
            operation.view().input(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
            operation.view().input(0).zeroPoint(),
            operation.view().output().zeroPoint());
    int most = Math.max(1, LONGEST / cells.reduced());
    program.callInParts(row, cells.outer(), most, operands.input(0).at(0), operands.output().at(0));
  }

  /** Neighbours are not too many, and no call takes too long. */
  private static boolean isResponse(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.hasValues(1)
        && StaticGraph.parameters(operation, Response.class)
            .filter(response -> response.radius() <= MOST_RADIUS)
            .filter(response -> areFew(operation.input(0).shape(), response))
            .isPresent();
  }

  private static boolean areFew(Shape shape, Response response) {
    ReducedCells cells = Composed.cells(shape, response.axis());
    long padded = (cells.reduced() + 2L * response.radius()) * cells.inner();
    return padded < LONGEST_RUN && padded * cells.outer() < Sizes.MOST_FLOATS;
  }

  private static void response(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Response response = operation.parameters(Response.class);
    ReducedCells cells = Composed.cells(operation.inputShape(0), response.axis());
    Composed steps = new Composed(cells, program);
    Place input = operands.input(0);
    Place squares = steps.newWhole();
    steps.whole(Pair.MUL, input, input, squares);
    Place sums = neighbours(cells, response.radius(), squares, program);
    Place measure =
        steps.with(Pair.ADD, steps.with(Pair.MUL, sums, response.alpha()), response.bias());
    steps.whole(
        Pair.MUL, input, steps.with(Pair.POW, measure, -response.beta()), operands.output());
  }

  /** Returns for each element the sum of those up to a radius away along the middle dimension. */
  private static Place neighbours(
      ReducedCells cells, int radius, Place from, ProgramBuilder program) {
    int count = cells.reduced() * cells.inner();
    int rows = cells.outer();
    int margin = radius * cells.inner() * Float.BYTES;
    int wide = count + 2 * radius * cells.inner();
    Place padded = program.place((long) rows * wide * Float.BYTES);
    PaddedRows copy = new PaddedRows(margin, count * Float.BYTES, margin);
    program.call(copy, rows, from.at(0), padded.at(0));
    Place sums = from;
    int most = Math.max(1, LONGEST / count);
    for (int i = 0; i <= 2 * radius; i++) {
      boolean isFirst = i == 0;
      Place next = program.place(from.bytes());
      Pairs added =
          new Pairs(
              isFirst ? Pair.FIRST : Pair.ADD,
              count,
              false,
              false,
              isFirst ? wide : count,
              isFirst ? 0 : wide,
              FusedActivation.NONE);
      program.callInParts(
          added,
          rows,
          most,
          (isFirst ? padded : sums).at(0),
          next.at(0),
          padded.at((long) i * cells.inner() * Float.BYTES));
      program.nextStep();
      sums = next;
    }
    return sums;
  }

  private static void rows(
      NormalizedRows row, int rows, Place from, Place to, ProgramBuilder program) {
    program.callInParts(row, rows, Math.max(1, LONGEST / row.count()), from.at(0), to.at(0));
  }

  private static boolean isInstance(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0)) || !operation.hasValues(1)) {
      return false;
    }
    DataLayout layout = DataLayout.of(operation.input(4).bool());
    return Composed.isPossible(instances(operation.input(0).shape(), layout));
  }

  /** The middle dimension is what is normalized together. */
  private static ReducedCells instances(Shape shape, DataLayout layout) {
    int cells = layout.height(shape) * layout.width(shape);
    return layout == DataLayout.NCHW
        ? new ReducedCells(shape.dimension(0) * layout.channels(shape), cells, 1)
        : new ReducedCells(shape.dimension(0), cells, layout.channels(shape));
  }

  private static void instance(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Moments moments = operation.parameters(Moments.class);
    ReducedCells cells = instances(operation.inputShape(0), moments.layout());
    Composed steps = new Composed(cells, program);
    Place normalized = normalized(steps, operands.input(0), moments.epsilon());
    Place scaled = steps.with(Pair.MUL, normalized, moments.gamma());
    steps.with(Pair.ADD, scaled, moments.beta(), operands.output());
  }

  /** Writes what has mean 0 and variance 1 along the middle dimension. */
  private static Place normalized(Composed steps, Place from, float epsilon) {
    ReducedCells cells = steps.cells();
    Place normalized = steps.newWhole();
    if (cells.inner() == 1 && cells.reduced() <= Reduction.MOST_OF_ROW) {
      NormalizedRows row = new NormalizedRows(true, cells.reduced(), epsilon);
      rows(row, cells.outer(), from, normalized, steps.program());
      return normalized;
    }
    Place distances = steps.newWhole();
    steps.spread(Pair.SUB, from, steps.reduce(Reducing.MEAN, from), distances);
    Place squares = steps.newWhole();
    steps.whole(Pair.MUL, distances, distances, squares);
    Place variance = steps.reduce(Reducing.MEAN, squares);
    Place deviation = steps.map(Kind.SQRT, steps.with(Pair.ADD, variance, epsilon));
    steps.spread(Pair.DIV, distances, deviation, normalized);
    return normalized;
  }

  private static boolean isLayer(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.input(3).value().isPresent()
        && operation.input(4).value().isPresent()
        && StaticGraph.parameters(operation, Groups.class)
            .filter(groups -> Composed.isPossible(cells(groups)))
            .isPresent()
        && BroadcastRuns.isPossible(operation.input(0), operation.input(1))
        && (!operation.has(2)
            || operation.input(2).value().isPresent()
                && BroadcastRuns.isPossible(operation.input(0), operation.input(2)));
  }

  private static ReducedCells cells(Groups groups) {
    return new ReducedCells(groups.groups(), groups.groupSize(), 1);
  }

  private static void layer(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Groups groups = operation.parameters(Groups.class);
    Composed steps = new Composed(cells(groups), program);
    Place normalized = normalized(steps, operands.input(0), groups.epsilon());
    boolean hasBias = operation.view().has(2);
    Place scaled = hasBias ? program.place(normalized.bytes()) : operands.output();
    factor(Pair.MUL, operation, normalized, operands, 1, scaled, program);
    if (hasBias) {
      factor(Pair.ADD, operation, scaled, operands, 2, operands.output(), program);
    }
  }

  private static void factor(
      Pair pair,
      ResolvedOperation operation,
      Place from,
      Lowering.Operands operands,
      int input,
      Place to,
      ProgramBuilder program) {
    Elementwise.pairs(
        pair,
        new Tensor(from, operation.inputShape(0)),
        new Tensor(operands.input(input), operation.inputShape(input)),
        new Tensor(to, operation.inputShape(0)),
        program);
  }
}
